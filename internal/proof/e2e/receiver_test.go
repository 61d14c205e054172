package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/webhook"
)

// A receiver takes the messages of a webhook, and keeps those with a signature that holds.
type receiver struct {
	t      *testing.T
	config string // the file of --notify
	events chan *notify.Event
}

// newReceiver starts a receiver of a webhook that may decide for a person.
func newReceiver(t *testing.T, secret, person string) *receiver {
	t.Helper()
	r := &receiver{t: t, events: make(chan *notify.Event, 100)}
	s, err := webhook.ParseSecret(strings.TrimSpace(secret))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err == nil {
			_, err = webhook.Verify(q.Header, body, time.Now(), s)
		}
		e := new(notify.Event)
		if err == nil {
			err = json.Unmarshal(body, e)
		}
		if err != nil {
			t.Errorf("a message is refused: %v", err)
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		r.events <- e
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	r.config = filepath.Join(dir, "notify.yaml")
	text := fmt.Sprintf(`url: https://posthouse.example.com
webhooks:
  - {name: ops, url: %q, insecure: true, allow: [127.0.0.0/8], secretFile: ops.secret, decideFor: %s}
`, server.URL, person)
	for name, text := range map[string]string{r.config: text, filepath.Join(dir, "ops.secret"): secret} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// event waits for an event about a thread.
func (r *receiver) event(kind notify.Type, thread string) *notify.Data {
	for e := range r.events {
		if e.Type == kind && e.Data.Thread == thread {
			return &e.Data
		}
	}
	return nil
}

// follow opens the link of an approval, which decides nothing, and returns what its page does when a
// person says yes: without a login, at the house's address in place of the public one.
func (h *house) follow(a *notify.Approval) (approve func() int) {
	h.t.Helper()
	link, err := url.Parse(a.Link)
	if err != nil || link.Fragment != a.Token || link.Host != "posthouse.example.com" {
		h.t.Fatalf("the link is %s, %v", a.Link, err)
	}
	gate := strings.TrimPrefix(link.Path, "/decide/")
	send := func(method, path, body string) int {
		h.t.Helper()
		req, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
		if err != nil {
			h.t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if path != link.Path {
			req.Header.Set("Authorization", "Bearer "+link.Fragment)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			h.t.Fatal(err)
		}
		_ = resp.Body.Close() // nothing of it is read
		return resp.StatusCode
	}
	for _, path := range []string{link.Path, link.Path, "/api/gates/" + gate + "/by-token"} {
		if status := send("GET", path, ""); status != http.StatusOK {
			h.t.Errorf("to open %s is answered %d", path, status)
		}
	}
	return func() int {
		h.t.Helper()
		return send("POST", "/api/gates/"+gate+"/decide-by-token", `{"verdict":"approve"}`)
	}
}

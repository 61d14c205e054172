package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/webhook"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var loopback = []string{"127.0.0.0/8", "::1"}

func message() *notify.Message {
	return &notify.Message{ID: "msg_1", Attempt: 1, Event: &notify.Event{
		Type: notify.GateOpened, At: time.Now().UTC(), Data: notify.Data{Thread: "order-7", Gate: &notify.Gate{ID: "g", Payload: json.RawMessage(`{"amount":9007199254740993}`)}},
	}}
}

// receive serves one handler and returns a webhook to it.
func receive(t *testing.T, o webhook.Options, h http.HandlerFunc) *webhook.Webhook {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	if o.Secret == "" && o.SecretFile == "" {
		o.Secret = webhook.NewSecret()
	}
	o.URL, o.Allow, o.Insecure = s.URL+"/hook?key=hidden", loopback, true
	w := must.Get(webhook.New(&o))(t)
	t.Cleanup(w.Close)
	return w
}

// The project of Standard Webhooks accepts what is sent, and Verify accepts what that project signs.
func TestBothWaysWithTheProjectsOwnLibrary(t *testing.T) {
	secret := webhook.NewSecret()
	theirs := must.Get(standard.NewWebhook(secret))(t)
	var got error
	var body []byte
	w := receive(t, webhook.Options{Secret: secret}, func(_ http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		got = theirs.Verify(body, r.Header)
		if r.Header.Get("Content-Type") != "application/json" || r.Method != http.MethodPost {
			t.Errorf("%s of %s", r.Method, r.Header.Get("Content-Type"))
		}
	})
	must.Do(t, w.Deliver(t.Context(), message()))
	must.Do(t, got)
	if !strings.Contains(string(body), `{"amount":9007199254740993}`) {
		t.Errorf("the payload is not as on record: %s", body)
	}

	now := time.Now()
	signature := must.Get(theirs.Sign("msg_2", now, []byte("{}")))(t)
	h := http.Header{}
	h.Set("webhook-id", "msg_2")
	h.Set("webhook-timestamp", fmt.Sprint(now.Unix()))
	h.Set("webhook-signature", "v1a,other "+signature)
	mine := must.Get(webhook.ParseSecret(secret))(t)
	if id := must.Get(webhook.Verify(h, []byte("{}"), now, mine))(t); id != "msg_2" {
		t.Errorf("the id is %q", id)
	}
	_, err := webhook.Verify(h, []byte("{ }"), now, mine)
	must.Fail(t, err, posthouse.ErrForbidden)
	_, err = webhook.Verify(h, []byte("{}"), now.Add(6*time.Minute), mine)
	must.Fail(t, err, posthouse.ErrForbidden)
	_, err = webhook.Verify(h, []byte("{}"), now, must.Get(webhook.ParseSecret(webhook.NewSecret()))(t))
	must.Fail(t, err, posthouse.ErrForbidden)
	h.Del("webhook-id")
	_, err = webhook.Verify(h, []byte("{}"), now, mine)
	must.Fail(t, err, posthouse.ErrForbidden)
}

// While a secret is rotated, receivers with the old one and with the new one accept a message.
func TestASecretIsRotatedWithoutARestart(t *testing.T) {
	older, newer := webhook.NewSecret(), webhook.NewSecret()
	path := filepath.Join(t.TempDir(), "secret")
	var header http.Header
	var body []byte
	must.Do(t, os.WriteFile(path, []byte("# of the ops team\n"+older+"\n"), 0o600))
	w := receive(t, webhook.Options{SecretFile: path}, func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
	})
	accepts := func(secret string) bool {
		return must.Get(standard.NewWebhook(secret))(t).Verify(body, header) == nil
	}
	for _, step := range []struct {
		file         string
		older, newer bool
	}{{older, true, false}, {newer + "\n" + older, true, true}, {newer, false, true}} {
		must.Do(t, os.WriteFile(path, []byte(step.file+"\n"), 0o600))
		must.Do(t, w.Deliver(t.Context(), message()))
		if accepts(older) != step.older || accepts(newer) != step.newer {
			t.Errorf("with %d secrets: the old one is accepted: %v, the new one: %v", strings.Count(step.file, "whsec"), accepts(older), accepts(newer))
		}
	}
	must.Do(t, os.Remove(path))
	if err := w.Deliver(t.Context(), message()); err == nil || strings.Contains(err.Error(), newer) {
		t.Errorf("without its file a message is sent, or the error shows the secret: %v", err)
	}
}

func TestAnswers(t *testing.T) {
	for status, want := range map[int]notify.Failure{
		200: {}, 204: {}, 299: {},
		301: {Status: 301}, 400: {Status: 400}, 500: {Status: 500}, 503: {Status: 503, After: 90 * time.Second}, 410: {Status: 410, Gone: true},
	} {
		var asked atomic.Int32
		w := receive(t, webhook.Options{}, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("Location", "/elsewhere")
			if status == 503 {
				w.Header().Set("Retry-After", "90")
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte("the body is no one's business"))
		})
		err := w.Deliver(t.Context(), message())
		f, failed := errors.AsType[*notify.Failure](err)
		switch {
		case !failed && err != nil, failed != (want.Status != 0):
			t.Errorf("%d: error %v", status, err)
		case failed && (f.Status != want.Status || f.Gone != want.Gone || f.After != want.After || strings.Contains(f.Message, "business")):
			t.Errorf("%d: %+v, want %+v", status, f, want)
		}
		if asked.Load() != 1 {
			t.Errorf("%d: the receiver was asked %d times: redirects are not followed", status, asked.Load())
		}
	}
}

// A receiver that answers without end, or not at all, holds an attempt no longer than its time.
func TestAReceiverThatStalls(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	endless := receive(t, webhook.Options{}, func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 32<<10)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	must.Do(t, endless.Deliver(t.Context(), message())) // it said 200, and no more than 64 KiB are read

	silent := receive(t, webhook.Options{}, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := silent.Deliver(ctx, message())
	if err == nil || err.Error() != "there was no answer in time" {
		t.Errorf("a silent receiver: %v", err)
	}
	headers := receive(t, webhook.Options{}, func(w http.ResponseWriter, r *http.Request) {
		for i := range 3000 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 100))
		}
	})
	if err := headers.Deliver(t.Context(), message()); err == nil {
		t.Error("300 KiB of headers are read")
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a private address was reached") }))
	defer s.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for _, host := range []string{
		"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254",
		"100.64.0.1", "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "224.0.0.1", "255.255.255.255", "0177.0.0.1", "2130706433", "127.1",
	} {
		w, err := webhook.New(&webhook.Options{URL: "http://" + host + ":" + port + "/", Insecure: true, Secret: webhook.NewSecret(), Allow: []string{"203.0.113.7"}})
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err = w.Deliver(ctx, message())
		cancel()
		if err == nil {
			t.Errorf("%s was reached", host)
		}
		w.Close()
	}
}

func TestOptionsThatCannotBeUsed(t *testing.T) {
	secret := webhook.NewSecret()
	empty := filepath.Join(t.TempDir(), "empty")
	must.Do(t, os.WriteFile(empty, []byte("# nothing\n"), 0o600))
	for what, o := range map[string]webhook.Options{
		"no URL":        {Secret: secret},
		"http":          {URL: "http://example.com", Secret: secret},
		"another thing": {URL: "file:///etc/passwd", Secret: secret, Insecure: true},
		"a password":    {URL: "https://a:b@example.com", Secret: secret},
		"a fragment":    {URL: "https://example.com/#x", Secret: secret},
		"no host":       {URL: "https:///hook", Secret: secret},
		"a long URL":    {URL: "https://example.com/" + strings.Repeat("x", 2000), Secret: secret},
		"no secret":     {URL: "https://example.com"},
		"two secrets":   {URL: "https://example.com", Secret: secret, SecretFile: empty},
		"a short one":   {URL: "https://example.com", Secret: "whsec_c2hvcnQ="},
		"no file":       {URL: "https://example.com", SecretFile: filepath.Join(t.TempDir(), "none")},
		"an empty file": {URL: "https://example.com", SecretFile: empty},
		"a network":     {URL: "https://example.com", Secret: secret, Allow: []string{"10.0.0.0/33"}},
		"a mapped one":  {URL: "https://example.com", Secret: secret, Allow: []string{"::ffff:10.0.0.0/104"}},
	} {
		_, err := webhook.New(&o)
		if err == nil {
			t.Errorf("%s is taken", what)
			continue
		}
		must.Fail(t, err, posthouse.ErrInvalid)
	}
}

func TestAddressesAreShownWithoutTheirSecrets(t *testing.T) {
	shown := map[string]string{}
	for _, url := range []string{"https://example.com/services/secret/1", "https://example.com/services/secret/2", "https://example.com/services/secret/1?key=secret", "https://example.com", "https://example.com/"} {
		w := must.Get(webhook.New(&webhook.Options{URL: url, Secret: webhook.NewSecret()}))(t)
		at := w.Address()
		if !strings.HasPrefix(at, "https://example.com/") || strings.Contains(at, "secret") || strings.Contains(at, "services") {
			t.Errorf("the address is %s", at)
		}
		if was, ok := shown[at]; ok && at != "https://example.com/" {
			t.Errorf("%s and %s look alike: %s", was, url, at)
		}
		shown[at] = url
	}
	w := must.Get(webhook.New(&webhook.Options{URL: "https://example.com/secret?key=secret", Secret: webhook.NewSecret()}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Deliver(ctx, message()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the address: %v", err)
	}
}

func FuzzParseSecret(f *testing.F) {
	f.Add(webhook.NewSecret())
	f.Add("whsec_")
	f.Fuzz(func(t *testing.T, s string) {
		secret, err := webhook.ParseSecret(s)
		if (secret == nil) != (err != nil) {
			t.Fatalf("%q: %v, %v", s, secret, err)
		}
		if err != nil && len(s) > 20 && strings.Contains(err.Error(), s) {
			t.Fatalf("the error shows the secret %q", s)
		}
	})
}

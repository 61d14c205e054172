package snippets_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/webhook"
)

// receiver answers 204 once it has an event, so that a crash before that has it sent again.
//
//doc:receiver
func receiver(secret *webhook.Secret, handle func(id string, e *notify.Event) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		id, err := webhook.Verify(r.Header, body, time.Now(), secret)
		if err != nil {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		e := new(notify.Event)
		if err := json.Unmarshal(body, e); err != nil {
			http.Error(w, "no event", http.StatusBadRequest)
			return
		}
		if err := handle(id, e); err != nil { // an id that it has seen before is done already
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

//doc:end

func TestTheReceiverOfThePage(t *testing.T) {
	text := webhook.NewSecret()
	secret := must(webhook.ParseSecret(text))
	var told []string
	h := receiver(secret, func(id string, e *notify.Event) error {
		told = append(told, id+" "+string(e.Type))
		return nil
	})
	body := []byte(`{"type":"gate.opened","timestamp":"2026-11-26T09:00:00Z","data":{}}`)
	post := func(signature string) int {
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("webhook-id", "msg_1")
		r.Header.Set("webhook-timestamp", fmt.Sprint(time.Now().Unix()))
		r.Header.Set("webhook-signature", signature)
		w := httptest.NewRecorder()
		h(w, r)
		return w.Code
	}
	if code := post(secret.Sign("msg_1", time.Now(), body)); code != http.StatusNoContent || len(told) != 1 || told[0] != "msg_1 gate.opened" {
		t.Errorf("%d, told %v", code, told)
	}
	if code := post("v1,bm8="); code != http.StatusForbidden || len(told) != 1 {
		t.Errorf("a signature that does not hold: %d, told %v", code, told)
	}
}

// TestEndpointsOfThePage makes the options that the page shows.
func TestEndpointsOfThePage(t *testing.T) {
	path := t.TempDir() + "/ops.secret"
	ok(os.WriteFile(path, []byte(webhook.NewSecret()), 0o600))
	endpoints := func(secretFile string) (*app.Options, error) {
		//doc:endpoints
		hook, err := webhook.New(&webhook.Options{URL: "https://ops.example.com/posthouse", SecretFile: secretFile})
		if err != nil {
			return nil, err
		}
		o := &app.Options{
			PagesURL: "https://posthouse.example.com",
			Endpoints: []notify.Endpoint{{
				Name: "ops", Channel: hook,
				Events: []notify.Type{notify.GateOpened, notify.GateDecided},
				Rule:   notify.Rule{Gates: []string{"refund*"}, Content: []notify.Condition{{At: "/amount", Above: "1000"}}},
			}},
		}
		//doc:end
		return o, nil
	}
	o := must(endpoints(path))
	ok(o.Endpoints[0].Validate())
}

package webhooks

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

// answers is a notifier that takes requests for one kind of channel, if they are signed.
type answers struct{ got string }

func (a *answers) Receive(w http.ResponseWriter, r *http.Request, kind string) error {
	switch {
	case kind != "slack":
		return posthouse.NotFound("channel", kind)
	case r.Header.Get("X-Signature") == "":
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: "Slack did not send this"}
	}
	b, err := io.ReadAll(r.Body)
	a.got = string(b)
	w.WriteHeader(http.StatusOK)
	return err
}

// A request that the channel's service signed is handed on as it came; all others get one answer, which tells nothing.
func TestRequestsForChannels(t *testing.T) {
	send := func(cs *Channels, kind, signature string) error {
		r := httptest.NewRequest(http.MethodPost, "/api/channels/"+kind, strings.NewReader("payload=x"))
		r.SetPathValue("id", kind)
		if signature != "" {
			r.Header.Set("X-Signature", signature)
		}
		route := cs.Routes()[0]
		in := &api.Request{Request: r, Route: route}
		if err := in.CheckPath(); err != nil {
			return err
		}
		return route.Handle(httptest.NewRecorder(), in)
	}
	a := new(answers)
	var first string
	for _, err := range []error{send(&Channels{}, "slack", "s"), send(&Channels{a}, "mail", "s"), send(&Channels{a}, "slack", "")} {
		e, ok := errors.AsType[*posthouse.Error](err)
		if !ok || e.Code != problem.CodeUnauthenticated || first != "" && e.Error() != first {
			t.Errorf("the answer is %v, want %q", err, first)
			continue
		}
		first = e.Error()
	}
	if err := send(&Channels{a}, "slack", "s"); err != nil || a.got != "payload=x" {
		t.Errorf("a signed request: %v, %q", err, a.got)
	}
}

package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/server/tokens"
)

// telling is a notifier with an endpoint that fails, and an error that names where it is.
type telling struct{ endpoints }

func (telling) Told(_ context.Context, id posthouse.ID) (*notify.GateTold, error) {
	if !strings.HasPrefix(string(id), "gate-") {
		return nil, posthouse.NotFound("gate", string(id))
	}
	return &notify.GateTold{Endpoints: 1, Items: []notify.Told{{Endpoint: "ops", Kind: "webhook", Event: notify.GateOpened, State: notify.ToldRetrying, Attempts: 2, Status: 503, Error: "lookup hook.internal"}}}, nil
}

// TestErrorsOfDeliveriesAreForOperators: a viewer and an approver see that telling failed and with which status,
// an operator the error, which may name hosts and mailboxes.
func TestErrorsOfDeliveriesAreForOperators(t *testing.T) {
	h := open(t, func(o *Options) { o.Notifier = telling{} })
	_, g := h.waiting("t1")
	for role, want := range map[tokens.Role]string{tokens.Viewer: "", tokens.Approver: "", tokens.Operator: "lookup hook.internal"} {
		var told notify.GateTold
		h.send(ask{method: "GET", path: "/api/gates/" + string(g.ID) + "/deliveries", as: role}).want(http.StatusOK).into(&told)
		if len(told.Items) != 1 || told.Items[0].Status != 503 || told.Items[0].Attempts != 2 || told.Items[0].Error != want {
			t.Errorf("as %s: %+v, want the error %q", role, told.Items, want)
		}
	}
	h.send(ask{method: "GET", path: "/api/gates/nothing/deliveries"}).refused(posthouse.CodeNotFound)

	none := open(t, nil)
	_, g = none.waiting("t1")
	var told notify.GateTold
	none.send(ask{method: "GET", path: "/api/gates/" + string(g.ID) + "/deliveries"}).want(http.StatusOK).into(&told)
	if told.Endpoints != 0 || told.Items == nil || len(told.Items) != 0 {
		t.Errorf("without endpoints there is %+v", told)
	}
	none.send(ask{method: "GET", path: "/api/gates/gate-nothing/deliveries"}).refused(posthouse.CodeNotFound)
}

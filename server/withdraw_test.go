package server

import (
	"context"
	"net/http"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestMessageSaysThatItWithdraws: what the body says reaches the agent, and a refusal names the
// gate.
func TestMessageSaysThatItWithdraws(t *testing.T) {
	h := open(t, nil)
	h.program.handle = func(_ context.Context, _ string, o *HandleOptions) (*Reply, error) {
		if o.Withdraw {
			return &Reply{Thread: o.Thread, Text: "withdrawn"}, nil
		}
		return nil, &posthouse.Error{Code: posthouse.CodeConflict, Message: "waits for a decision", Gates: []posthouse.ID{"gate-1"}}
	}
	a := h.post("/api/agents/dispatch", `{"message":"m","thread":"t"}`)
	if p := a.refused(posthouse.CodeConflict); len(p.Gates) != 1 || p.Gates[0] != "gate-1" {
		t.Errorf("the refusal is %+v", p)
	}
	h.post("/api/agents/dispatch", `{"message":"m","thread":"t","withdraw":true}`).want(http.StatusOK)
}

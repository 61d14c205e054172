package coord_test

import (
	"context"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/store/memstore"
)

// TestApprovedToolSurvivesACrash has an agent's tool approved over a session,
// the process die before the tool has run, and the request go on without any
// session, as a runner resumes it: in the name of who sent it.
func TestApprovedToolSurvivesACrash(t *testing.T) {
	for _, by := range []string{"alice", "bob"} { // who sent the request; alice approves
		store, kill, ran := memstore.New(), context.CancelFunc(nil), 0
		pay := gate.Require(func(ctx context.Context, amount int) (string, error) {
			if kill != nil {
				kill()
				return "", ctx.Err()
			}
			ran++
			return "paid", nil
		}, gate.Approval{Tool: "pay", Message: "Pay it?", Idempotent: true}) // it dies within the tool
		fleet := must.Get(coord.NewFleet(coord.Agent{Name: "payer", Skills: map[string]coord.Skill{"do": func(ctx context.Context, _ coord.Call) (coord.Result, error) {
			text, err := pay(ctx, 40)
			return coord.Result{Text: text}, err
		}}}))(t)
		handler := func(ctx context.Context, message string, f *coord.Fleet, s *coord.Session) error {
			r, err := call(ctx, f, "payer", message)
			s.Stream(r.Text)
			return err
		}
		var chat *gate.Session
		asked := 0
		chat = gate.NewSession(&gate.SessionOptions{By: "alice", Announce: func(g *posthouse.Gate) error {
			asked++
			chat.Receive("/__approval/"+string(g.ID)+"/approve", "alice")
			return nil
		}})
		ctx, cancel := context.WithCancel(chat.With(t.Context()))
		kill = cancel
		_, err := coordinator(t, open(t, store, nil), fleet, handler).Handle(ctx, "order 1234", &coord.HandleOptions{Thread: "t", By: by})
		must.Fail(t, err, context.Canceled)
		kill = nil

		r := must.Get(coordinator(t, open(t, store, nil), fleet, handler).Resume(t.Context(), "t", nil))(t)
		switch {
		case asked != 1:
			t.Errorf("%s: asked %d times", by, asked)
		case by == "alice" && (ran != 1 || r.Text != "paid"):
			t.Errorf("alice: it ran %d times, %+v", ran, r)
		case by == "bob" && (ran != 0 || !strings.Contains(r.Text, "nobody can be asked")):
			t.Errorf("bob inherited an approval: it ran %d times, %+v", ran, r)
		}
	}
}

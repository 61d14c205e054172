package origins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
)

// Twins of ToolApprovalDurabilityTest, over each of the three models.

// A model runs fn as a program of its kind: with an input of by's, then from
// where that came to.
type model struct {
	run    func(ctx context.Context, by string) error
	resume func(ctx context.Context) error
}

var models = map[string]func(t *testing.T, l *ledger.Ledger, fn func(context.Context) error) model{
	"graph": func(t *testing.T, l *ledger.Ledger, fn func(context.Context) error) model {
		g := graph.New[work]("work")
		g.Node("do", func(ctx context.Context, _ *work) error { return fn(ctx) })
		chain(g, "do")
		app := compile(t, g, l)
		return model{
			func(ctx context.Context, by string) error {
				_, err := app.Run(ctx, "t", work{}, graph.RunOptions{By: by})
				return err
			},
			func(ctx context.Context) error { _, err := app.Resume(ctx, "t"); return err },
		}
	},
	"flow": func(t *testing.T, l *ledger.Ledger, fn func(context.Context) error) model {
		app := must(flow.New("work", func(ctx context.Context, _ string) (string, error) { return "", fn(ctx) }).Open(l, nil))(t)
		return model{
			func(ctx context.Context, by string) error {
				_, err := app.Run(ctx, "t", "in", flow.RunOptions{By: by})
				return err
			},
			func(ctx context.Context) error { _, err := app.Resume(ctx, "t"); return err },
		}
	},
	"coord": func(t *testing.T, l *ledger.Ledger, fn func(context.Context) error) model {
		handler := func(ctx context.Context, _ string, _ *coord.Fleet, _ *coord.Session) error { return fn(ctx) }
		c := must(coord.New(l, "work", must(coord.NewFleet())(t), handler, nil))(t)
		return model{
			func(ctx context.Context, by string) error {
				_, err := c.Handle(ctx, "in", &coord.HandleOptions{Thread: "t", By: by})
				return err
			},
			func(ctx context.Context) error { _, err := c.Resume(ctx, "t", nil); return err },
		}
	},
}

// overModels calls test with a program of each kind, which is killed by crash.
func overModels(t *testing.T, test func(t *testing.T, p *program)) {
	for name, make := range models {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &program{}
				p.model = make(t, open(t, memstore.New(), nil), func(ctx context.Context) error { return p.fn(ctx) })
				test(t, p)
			})
		})
	}
}

// A program calls a tool that is approved in a session.
type program struct {
	model
	fn         func(context.Context) error
	crash      context.CancelFunc // if not nil: what happens once the call is approved
	asked, ran int
	err        error // of the call
}

// pays has the program call the tool.
func (p *program) pays() {
	pay := gate.Require(func(ctx context.Context, amount int) (string, error) {
		if p.crash != nil {
			p.crash()
			return "", ctx.Err()
		}
		p.ran++
		return "paid", nil
	}, gate.Approval{Tool: "pay", Message: "Pay it?", Idempotent: true}) // it crashes within the tool
	p.fn = func(ctx context.Context) error {
		_, p.err = pay(ctx, 40)
		return p.err
	}
}

// session is a connection of alice's, who says answer.
func (p *program) session(ctx context.Context, answer string) context.Context {
	var chat *gate.Session
	chat = gate.NewSession(&gate.SessionOptions{By: "alice", Announce: func(g *posthouse.Gate) error {
		if p.asked++; answer != "" {
			chat.Receive("/__approval/"+string(g.ID)+"/"+answer, "alice")
		}
		return nil
	}})
	return chat.With(ctx)
}

// approvedDecisionSurvivesCrashResumeWithoutRePrompting,
// differentPrincipalCannotInheritARecordedApproval: without a session, as a
// runner does, a program goes on in the name of whoever it is for.
func TestApprovalSurvivesACrash(t *testing.T) {
	overModels(t, func(t *testing.T, p *program) {
		p.pays()
		ctx, crash := context.WithCancel(t.Context())
		p.crash = crash
		wantCode(t, p.run(p.session(ctx, "approve"), "alice"), context.Canceled)
		p.crash = nil
		err := p.resume(t.Context())
		if err != nil || p.err != nil || p.asked != 1 || p.ran != 1 {
			t.Fatalf("asked %d times, ran %d times: %v, %v", p.asked, p.ran, err, p.err)
		}
	})
	overModels(t, func(t *testing.T, p *program) {
		p.pays()
		ctx, crash := context.WithCancel(t.Context())
		p.crash = crash
		wantCode(t, p.run(p.session(ctx, "approve"), "bob"), context.Canceled)
		p.crash = nil
		err := p.resume(t.Context())
		wantCode(t, p.err, posthouse.ErrForbidden)
		if p.asked != 1 || p.ran != 0 {
			t.Fatalf("asked %d times, ran %d times: %v", p.asked, p.ran, err)
		}
	})
}

// timeoutIsNotReplayedAsADecision: silence is not on record, so the next session
// is asked.
func TestApprovalTimeoutIsNoDecision(t *testing.T) {
	overModels(t, func(t *testing.T, p *program) {
		p.pays()
		pay := p.fn
		p.fn = func(ctx context.Context) error {
			if err := pay(ctx); err != nil {
				panic(err) // so that a coordinator fails, too
			}
			return nil
		}
		if p.run(p.session(t.Context(), ""), "alice") == nil {
			t.Error("nobody answered, and it went on")
		}
		wantCode(t, p.err, posthouse.ErrExpired)
		if err := p.resume(p.session(t.Context(), "approve")); p.asked != 2 {
			t.Fatalf("asked %d times: %v", p.asked, err)
		}
	})
}

// A question for four eyes is the requester's without saying so, in each model.
func TestFourEyesKnowTheRequester(t *testing.T) {
	for name, make := range models {
		t.Run(name, func(t *testing.T) {
			l := newLedger(t)
			verdict := posthouse.Verdict("")
			m := make(t, l, func(ctx context.Context) error {
				a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "pay", FourEyes: true})
				verdict = a.Verdict
				return err
			})
			if err := m.run(t.Context(), "alice"); err != nil {
				t.Fatal(err)
			}
			var open []string
			for g, err := range l.Gates(t.Context(), ledger.GateQuery{}) {
				must(g, err)(t)
				_, err = l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
				wantCode(t, err, posthouse.ErrForbidden)
				for _, by := range []string{"bob", "carol"} {
					_, err = l.Decide(t.Context(), g.ID, posthouse.Decision{Verdict: posthouse.Approve, By: by})
				}
				open = append(open, fmt.Sprint(g.RequestedBy, err))
			}
			wantList(t, "questions", open, "alice<nil>")
			if err := m.resume(t.Context()); err != nil || verdict != posthouse.Approve {
				t.Fatalf("verdict %v, error %v", verdict, err)
			}
		})
	}
}

// One rule gives the requester of a question in each model: the sender of the
// input, who may reject but not approve it, unless the question says otherwise. A
// wait has no requester.
func TestRequestersDoNotApprove(t *testing.T) {
	answer := []posthouse.Verdict{posthouse.Respond}
	for name, make := range models {
		for what, c := range map[string]struct {
			q    gate.Question
			by   string // who decides
			as   posthouse.Verdict
			want error
			of   string // its requester
		}{
			"own":            {gate.Question{}, "alice", posthouse.Approve, posthouse.ErrForbidden, "alice"},
			"own, edited":    {gate.Question{}, "alice", posthouse.Edit, posthouse.ErrForbidden, "alice"},
			"own, rejected":  {gate.Question{}, "alice", posthouse.Reject, nil, "alice"},
			"another's":      {gate.Question{}, "bob", posthouse.Approve, nil, "alice"},
			"allowed":        {gate.Question{AllowRequester: true}, "alice", posthouse.Approve, nil, "alice"},
			"said":           {gate.Question{RequestedBy: "bob"}, "carol", posthouse.Approve, nil, "bob"},
			"said, sent":     {gate.Question{RequestedBy: "bob"}, "alice", posthouse.Approve, posthouse.ErrForbidden, "bob"},
			"said, own":      {gate.Question{RequestedBy: "bob"}, "bob", posthouse.Approve, posthouse.ErrForbidden, "bob"},
			"only an answer": {gate.Question{Verdicts: answer, Assignees: []string{"alice"}}, "alice", posthouse.Respond, nil, "alice"},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				l := newLedger(t)
				c.q.Name = "pay"
				m := make(t, l, func(ctx context.Context) error {
					_, err := gate.Ask[any](ctx, c.q)
					return errors.Join(err, step.Sleep(ctx, "while", time.Hour))
				})
				if err := m.run(t.Context(), "alice"); err != nil {
					t.Fatal(err)
				}
				for g, err := range l.Gates(t.Context(), ledger.GateQuery{All: true}) {
					if must(g, err)(t); g.Kind == posthouse.GateTimer {
						if g.RequestedBy != "" {
							t.Errorf("a wait is %s's", g.RequestedBy)
						}
						continue
					}
					d := posthouse.Decision{Verdict: c.as, By: c.by}
					if c.as == posthouse.Edit || c.as == posthouse.Respond {
						d.Value = json.RawMessage("1")
					}
					_, err = l.Decide(t.Context(), g.ID, d)
					if !errors.Is(err, c.want) || g.RequestedBy != c.of {
						t.Errorf("request of %q: %v", g.RequestedBy, err)
					}
				}
			})
		}
	}
}

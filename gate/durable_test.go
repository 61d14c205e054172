package gate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

var errCrash = errors.New("the process was killed")

// A counter is a session that counts what it asks and answers at once.
type counter struct {
	session *gate.Session
	asked   int
}

func answering(by, text string) *counter {
	c := &counter{}
	c.session = gate.NewSession(&gate.SessionOptions{By: by, Announce: func(g *posthouse.Gate) error {
		c.asked++
		if text != "" {
			c.session.Receive(strings.ReplaceAll(text, "ID", string(g.ID)), by)
		}
		return nil
	}})
	return c
}

// A paying node calls the tool and crashes after the approval, until told not to.
type paying struct {
	*host
	session  *gate.Session
	approval gate.Approval
	in       payment
	crash    bool
	ran      []int // amounts
	err      error // of the tool
}

func newPaying(t *testing.T) *paying {
	p := &paying{in: payment{"1234", 40}, crash: true, approval: gate.Approval{Tool: "pay", Message: "ok?", Idempotent: true}}
	pay := func(_ context.Context, in payment) (string, error) {
		if p.crash {
			return "", errCrash
		}
		p.ran = append(p.ran, in.Amount)
		return "paid", nil
	}
	p.host = newHost(t, func(ctx context.Context) error {
		if p.session != nil {
			ctx = p.session.With(ctx)
		}
		_, p.err = gate.Require(pay, p.approval)(ctx, p.in)
		return p.err
	})
	return p
}

// again runs the node in a new process, with another session.
func (p *paying) again(c *counter) error {
	p.restart()
	p.session = nil
	if c != nil {
		p.session = c.session
	}
	return p.run()
}

// steps returns the names of the recorded steps with their effects.
func (h *host) steps() (out []string) {
	for e, err := range h.l.Log(context.Background(), "order-1", posthouse.Range{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		for _, r := range e.Records {
			if r.Step != nil {
				name, _, _ := strings.Cut(r.Step.Name, ">")
				if r.Step.Effect == posthouse.EffectHuman {
					name += " (human)"
				}
				out = append(out, name)
			}
		}
	}
	return out
}

func TestAnswerSurvivesACrashWithoutAskingAgain(t *testing.T) {
	for text, amount := range map[string]int{"/__approval/ID/approve": 40, `/__approval/ID/approve {"order":"1234","amount":7}`: 7} {
		p := newPaying(t)
		first, second := answering("alice", text), answering("alice", "/__approval/ID/deny")
		if err := p.again(first); !errors.Is(err, errCrash) || first.asked != 1 {
			t.Fatal(err)
		}
		if got := p.steps(); len(got) != 1 || got[0] != "approval:pay (human)" {
			t.Fatalf("on record before the tool ran: %v", got)
		}
		p.crash = false
		if err := p.again(second); err != nil || second.asked != 0 || len(p.ran) != 1 || p.ran[0] != amount {
			t.Errorf("%s: asked %d, ran %v, %v", text, second.asked, p.ran, err)
		}
	}
}

func TestDenialSurvivesACrash(t *testing.T) {
	p := newPaying(t)
	p.crash = false
	if err := p.again(answering("alice", "/__approval/ID/deny not today")); !errors.Is(err, posthouse.ErrForbidden) {
		t.Fatal(err)
	}
	second := answering("alice", "/__approval/ID/approve")
	if err := p.again(second); !errors.Is(err, posthouse.ErrForbidden) || !strings.Contains(err.Error(), "not today") || second.asked != 0 || len(p.ran) != 0 {
		t.Errorf("asked %d, ran %v, %v", second.asked, p.ran, err)
	}
}

func TestTimeoutIsNotReplayedAsADecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaying(t)
		p.crash = false
		if err := p.again(answering("alice", "")); !errors.Is(err, posthouse.ErrExpired) {
			t.Fatal(err)
		}
		if got := p.steps(); len(got) != 0 {
			t.Errorf("on record: %v", got)
		}
		second := answering("alice", "/__approval/ID/approve")
		if err := p.again(second); err != nil || second.asked != 1 || len(p.ran) != 1 {
			t.Errorf("asked %d, ran %v, %v", second.asked, p.ran, err)
		}
	})
}

func TestDisconnectIsNotReplayedAsADecision(t *testing.T) {
	p := newPaying(t)
	p.crash = false
	var s *gate.Session
	s = gate.NewSession(&gate.SessionOptions{By: "alice", Announce: func(*posthouse.Gate) error { s.Close(); return nil }})
	if err := p.again(&counter{session: s}); !errors.Is(err, posthouse.ErrForbidden) || len(p.steps()) != 0 {
		t.Fatalf("error %v, p.steps() %v", err, p.steps())
	}
	if err := p.again(answering("alice", "/__approval/ID/approve")); err != nil || len(p.ran) != 1 {
		t.Error(err)
	}
}

func TestAnotherPrincipalCannotInheritAnApproval(t *testing.T) {
	p := newPaying(t)
	if err := p.again(answering("alice", "/__approval/ID/approve")); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	p.crash = false
	bob := answering("bob", "/__approval/ID/deny")
	if err := p.again(bob); !errors.Is(err, posthouse.ErrForbidden) || bob.asked != 1 || len(p.ran) != 0 {
		t.Errorf("bob: asked %d, ran %v, %v", bob.asked, p.ran, err)
	}
	if err := p.again(nil); !errors.Is(err, posthouse.ErrForbidden) || len(p.ran) != 0 {
		t.Errorf("nobody: ran %v, %v", p.ran, err)
	}
	alice := answering("alice", "/__approval/ID/deny")
	if err := p.again(alice); err != nil || alice.asked != 0 || len(p.ran) != 1 {
		t.Errorf("alice: asked %d, ran %v, %v", alice.asked, p.ran, err)
	}
}

func TestOtherArgumentsAreAskedForAgain(t *testing.T) {
	p := newPaying(t)
	if err := p.again(answering("alice", "/__approval/ID/approve")); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	p.crash, p.in.Amount = false, 4000
	second := answering("alice", "/__approval/ID/deny")
	if err := p.again(second); !errors.Is(err, posthouse.ErrForbidden) || second.asked != 1 || len(p.ran) != 0 {
		t.Errorf("asked %d, ran %v, %v", second.asked, p.ran, err)
	}
}

// TestOutdatedApprovalIsAskedForAgain deploys a tool with a question
// that says something else, or that does not take the answer any more.
func TestOutdatedApprovalIsAskedForAgain(t *testing.T) {
	const yes, edit, deny = "/__approval/ID/approve", `/__approval/ID/approve {"order":"1234","amount":7}`, "/__approval/ID/deny"
	only := []posthouse.Verdict{posthouse.Approve, posthouse.Reject}
	for name, c := range map[string]struct {
		first string
		then  gate.Approval
		asked int
	}{
		"same":               {yes, gate.Approval{Tool: "pay", Message: "ok?", Idempotent: true}, 0},
		"same denial":        {deny, gate.Approval{Tool: "pay", Message: "ok?", Idempotent: true}, 0},
		"another message":    {yes, gate.Approval{Tool: "pay", Message: "ok, and as a gift?", Idempotent: true}, 1},
		"denied before":      {deny, gate.Approval{Tool: "pay", Message: "ok, and as a gift?", Idempotent: true}, 1},
		"no more edits":      {edit, gate.Approval{Tool: "pay", Message: "ok?", Idempotent: true, Verdicts: only}, 1},
		"no edits, approved": {yes, gate.Approval{Tool: "pay", Message: "ok?", Idempotent: true, Verdicts: only}, 0},
		"denials are final":  {deny, gate.Approval{Tool: "pay", Message: "ok?", Idempotent: true, Verdicts: only[:1]}, 0},
		"assigned since":     {yes, gate.Approval{Tool: "pay", Message: "ok?", Idempotent: true, Assignees: []string{"bob"}}, 0},
	} {
		p := newPaying(t)
		first := answering("alice", c.first)
		if err := p.again(first); err == nil || first.asked != 1 {
			t.Fatalf("name %v, error %v", name, err)
		}
		p.crash, p.approval = false, c.then
		second := answering("alice", deny)
		if err := p.again(second); second.asked != c.asked || (err == nil) != (c.asked == 0 && c.first != deny) {
			t.Errorf("%s: asked %d, ran %v, %v", name, second.asked, p.ran, err)
		}
		third := answering("alice", yes)
		_ = p.again(third)
		if third.asked != 0 {
			t.Errorf("%s: asked after the second answer was recorded", name)
		}
	}
}

// TestPrincipalOfTheRun has a run go on without any session, in the name of
// whoever it is for, as a runner does after a crash.
func TestPrincipalOfTheRun(t *testing.T) {
	p := newPaying(t)
	if err := p.again(answering("alice", "/__approval/ID/approve")); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	p.crash = false
	node := p.node
	p.node = func(ctx context.Context) error { return node(engine.WithPrincipal(ctx, "bob")) }
	if err := p.again(nil); !errors.Is(err, posthouse.ErrForbidden) || len(p.ran) != 0 {
		t.Errorf("for bob: %v", err)
	}
	p.node = func(ctx context.Context) error { return node(engine.WithPrincipal(ctx, "alice")) }
	if err := p.again(nil); err != nil || len(p.ran) != 1 {
		t.Errorf("for alice: %v", err)
	}
}

func TestPolicyIsAskedEachTime(t *testing.T) {
	p := newPaying(t)
	if err := p.again(&counter{session: gate.NewSession(&gate.SessionOptions{By: "alice", Policy: gate.AllowAll})}); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	if got := p.steps(); len(got) != 1 {
		t.Errorf("on record: %v", got)
	}
	p.crash = false
	if err := p.again(&counter{session: gate.NewSession(&gate.SessionOptions{By: "alice", Policy: gate.DenyAll})}); !errors.Is(err, posthouse.ErrForbidden) || len(p.ran) != 0 {
		t.Error(err)
	}
	asked := answering("alice", "/__approval/ID/deny") // what a policy allowed is no person's answer
	if err := p.again(asked); !errors.Is(err, posthouse.ErrForbidden) || asked.asked != 1 {
		t.Error(err)
	}
}

// TestWithoutATaskEachCallIsAsked covers tools outside of any program.
func TestWithoutATaskEachCallIsAsked(t *testing.T) {
	p := newPaying(t)
	p.crash = false
	c := answering("alice", "/__approval/ID/approve")
	for range 2 {
		if err := p.node(c.session.With(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if c.asked != 2 {
		t.Errorf("asked %d times", c.asked)
	}
}

// A refusing store refuses one append, counted from 1.
type refusing struct {
	posthouse.Store
	at, n int
}

func (s *refusing) Append(ctx context.Context, b *posthouse.Batch) error {
	if s.n++; s.n == s.at {
		return &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "the disk is full"}
	}
	return s.Store.Append(ctx, b)
}

// TestOneApprovalOneRun: a tool that failed, or lost its process while it ran, runs again only
// under another approval. Without a session it is forbidden. A process that is lost before the
// tool began has used nothing.
func TestOneApprovalOneRun(t *testing.T) {
	p := newPaying(t)
	p.approval.Idempotent = false
	first := answering("alice", "/__approval/ID/approve")
	if err := p.again(first); !errors.Is(err, errCrash) || first.asked != 1 {
		t.Fatal(err)
	}
	p.crash = false
	if err := p.again(nil); !errors.Is(err, posthouse.ErrForbidden) || len(p.ran) != 0 {
		t.Errorf("without a session: ran %v, %v", p.ran, err)
	}
	denies := answering("alice", "/__approval/ID/deny")
	if err := p.again(denies); !errors.Is(err, posthouse.ErrForbidden) || denies.asked != 1 || len(p.ran) != 0 {
		t.Errorf("asked again: %d, ran %v, %v", denies.asked, p.ran, err)
	}

	q := newPaying(t)
	q.approval.Idempotent, q.crash = false, false
	full := &refusing{Store: q.store, at: 3} // after the approval, before the tool is on record as begun
	whole := q.store
	q.store = full
	gone := answering("alice", "/__approval/ID/approve")
	if err := q.again(gone); err == nil || gone.asked != 1 || len(q.ran) != 0 {
		t.Fatalf("its beginning is not on record: asked %d, ran %v, %v", gone.asked, q.ran, err)
	}
	q.store = whole
	back := answering("alice", "/__approval/ID/deny")
	if err := q.again(back); err != nil || back.asked != 0 || len(q.ran) != 1 {
		t.Errorf("after a loss before the tool began: asked %d, ran %v, %v", back.asked, q.ran, err)
	}
}

// TestSecondRunSaysWhatBecameOfTheFirst: the question for another run says that the first began and
// how it ended. If the tool said that nothing happened, the answer is still good.
func TestSecondRunSaysWhatBecameOfTheFirst(t *testing.T) {
	for name, c := range map[string]struct {
		first error // nil: the process is killed in the middle of it
		asked int   // by the second run
		note  string
	}{
		"an error":     {errors.New("connection reset"), 1, `it may have been done: a run of it ended with the error "connection reset", under the approval by alice`},
		"not done":     {gate.NotDone(errors.New("no funds")), 0, ""},
		"partly":       {errors.Join(gate.NotDone(errors.New("no funds")), errors.New("reset")), 1, `it may have been done: a run of it ended with the error "no funds\nreset", under the approval by alice`},
		"a killed one": {nil, 1, "it may have been done: a run of it began, and how that ended is not known, under the approval by alice"},
		"a panic":      {errPanics, 1, "it may have been done: a run of it ended with the error"},
	} {
		t.Run(name, func(t *testing.T) {
			runs, session := 0, (*gate.Session)(nil)
			tool := gate.Require(func(context.Context, payment) (string, error) {
				runs++
				if runs == 1 && errors.Is(c.first, errPanics) {
					panic("in the bank's client")
				}
				if runs == 1 {
					return "", c.first
				}
				return "paid", nil
			}, gate.Approval{Tool: "pay", Message: "ok?"})
			h := newHost(t, func(ctx context.Context) error {
				_, err := tool(session.With(ctx), payment{"1234", 40})
				if err == nil && runs == 1 {
					return errCrash
				}
				return err
			})
			asked, note := 0, ""
			answers := func() {
				session = gate.NewSession(&gate.SessionOptions{By: "alice", Announce: func(g *posthouse.Gate) error {
					asked, note = asked+1, g.Note
					session.Receive("/__approval/"+string(g.ID)+"/approve", "alice")
					return nil
				}})
			}
			answers()
			if err := h.run(); err == nil || asked != 1 || runs != 1 {
				t.Fatal(err, asked, runs)
			}
			asked, note = 0, ""
			h.restart()
			answers()
			if err := h.run(); err != nil || asked != c.asked || runs != 2 || !strings.HasPrefix(note, c.note) {
				t.Errorf("%v; asked %d times, ran %d times, with the note %q", err, asked, runs, note)
			}
		})
	}
}

var errPanics = errors.New("it panics")

// TestRetriesAskAgain: a node is tried three times, and each run of the tool has its approval.
func TestRetriesAskAgain(t *testing.T) {
	for name, idempotent := range map[string]bool{"once": false, "idempotent": true} {
		t.Run(name, func(t *testing.T) {
			l := opened(ledger.Open(memstore.New(), nil))(t)
			ran := 0
			tool := gate.Require(func(context.Context, payment) (string, error) {
				if ran++; ran < 3 {
					return "", errCrash
				}
				return "paid", nil
			}, gate.Approval{Tool: "pay", Message: "ok?", Idempotent: idempotent})
			c := answering("alice", "/__approval/ID/approve")
			g := graph.New[payment]("g")
			g.Node("pay", func(ctx context.Context, s *payment) error {
				_, err := tool(ctx, *s)
				return err
			}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}})
			g.Edge(graph.Start, "pay")
			g.Edge("pay", graph.End)
			app := opened(g.Compile(l, nil))(t)
			if _, err := app.Run(c.session.With(t.Context()), "t", payment{"1234", 40}); err != nil {
				t.Fatal(err)
			}
			want := 3
			if idempotent {
				want = 1
			}
			if ran != 3 || c.asked != want {
				t.Errorf("ran %d times, asked %d times", ran, c.asked)
			}
		})
	}
}

func opened[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

package content_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/step"
)

// sleeping is a graph that proposes, sleeps until morning, and then pays.
func sleeping(h *house, b *bank) *graph.App[deal] {
	g := graph.New[deal]("sleeping")
	g.Node("propose", func(ctx context.Context, s *deal) (err error) {
		s.Grant, err = gate.Propose(ctx, gate.Question{Name: "pay", ValidFor: 48 * time.Hour}, bankTransfer{"bob", s.Amount})
		return err
	})
	g.Node("sleep", func(ctx context.Context, _ *deal) error { return step.Sleep(ctx, "night", 12*time.Hour) })
	g.Node("count", func(_ context.Context, s *deal) error { s.Amount++; return nil })
	g.Node("pay", func(ctx context.Context, s *deal) (err error) {
		s.Receipt, err = gate.Act(ctx, "pay", s.Grant, b.pay)
		return err
	})
	g.Edge(graph.Start, "propose")
	g.Edge("propose", "count")
	g.Edge("count", "sleep")
	g.Edge("sleep", "pay")
	g.Edge("pay", graph.End)
	return must(g.Compile(h.ledger, nil))(h)
}

// compact removes what the store's own compaction would, where it has one.
func compact(h *house) {
	h.Helper()
	if _, err := retain.Compact(h.Context(), h.ledger); err != nil && !errors.Is(err, posthouse.ErrUnsupported) {
		h.Fatal(err)
	}
}

// No policy removes an approval that the thread still needs, whether it removes by age, by
// count or under the cap, with a compaction after it.
func TestRetentionKeepsApprovalsThatMayBeUsed(t *testing.T) {
	for name, policy := range map[string]*retain.Policy{
		"age": {MaxAge: time.Hour}, "count 1": {MaxPerThread: 1}, "count 2": {MaxPerThread: 2}, "cap": nil,
	} {
		t.Run(name, func(t *testing.T) {
			onStores(t, func(h *house) {
				if policy == nil {
					l, err := ledger.Open(h.store, &ledger.Options{Now: func() time.Time { return h.now }, Validate: gate.Validator(), MaxCheckpoints: 1})
					if err != nil {
						t.Fatal(err)
					}
					h.ledger = l
				}
				b := &bank{}
				app := sleeping(h, b)
				must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
				id := h.only("t").ID
				h.decide(id, posthouse.Approve, "alice")
				must(app.Resume(h.Context(), "t"))(h)
				h.now = h.now.Add(13 * time.Hour)
				if policy != nil {
					if done := must(retain.Run(h.Context(), h.ledger, *policy, nil))(h); done.Checkpoints == 0 {
						t.Error("the policy removed nothing")
					}
				}
				compact(h)
				must(h.ledger.Gate(h.Context(), id))(h)
				must(app.Resume(h.Context(), "t"))(h)
				b.want(h, bankTransfer{"bob", 10})

				// Once it is used, the approval goes with the rest.
				h.now = h.now.Add(13 * time.Hour)
				must(retain.Run(h.Context(), h.ledger, retain.Policy{MaxPerThread: 1}, nil))(h)
				compact(h)
				if _, err := h.ledger.Gate(h.Context(), id); err == nil {
					t.Error("the gate of a used approval is kept for ever")
				}
			})
		})
	}
}

// A release ends the approvals that were not used, and lists them.
func TestReleaseEndsUnusedApprovals(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := sleeping(h, b)
		shown := func(id posthouse.ID, want grants.Approval) {
			h.Helper()
			if g := must(ledger.ReadGrant(h.Context(), h.ledger, id))(h); g.Approval != want {
				h.Errorf("the approval of %s is %q, want %q", id, g.Approval, want)
			}
		}
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		first := h.only("t").ID
		shown(first, grants.ApprovalNone)
		h.decide(first, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		shown(first, grants.ApprovalUsable)
		h.now = h.now.Add(49 * time.Hour)
		shown(first, grants.ApprovalLapsed)
		r := must(h.ledger.Release(h.Context(), "t", nil))(h)
		if len(r.Ended) != 1 || r.Ended[0] != first {
			h.Errorf("the release ended %v, want %v", r.Ended, first)
		}
		shown(first, grants.ApprovalEnded)

		must(app.Run(h.Context(), "t", deal{Amount: 20}))(h)
		second := h.only("t").ID
		h.decide(second, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		h.now = h.now.Add(13 * time.Hour)
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 20})
		shown(second, grants.ApprovalUsed)
		if r := must(h.ledger.Release(h.Context(), "t", nil))(h); len(r.Ended) != 0 {
			h.Errorf("the release ended %v, which is used", r.Ended)
		}
	})
}

// A plan is what a random program does, step by step.
type plan struct {
	At     int
	Ops    []string // propose, sleep, count, act
	Grants []gate.Grant
	Acted  int
}

// Whatever policy runs, and whenever: Act finds the gate of its grant, on the branch of the
// decision and on forks, in this generation and the next.
func TestRetentionProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &house{T: t, store: memStore(), now: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}
		h.restart()
		g := graph.New[plan]("plan")
		g.Node("do", func(ctx context.Context, s *plan) error {
			switch op := s.Ops[s.At]; op {
			case "propose":
				grant, err := gate.Propose(ctx, gate.Question{Name: "pay", ValidFor: 30 * time.Hour}, bankTransfer{"bob", s.At})
				if errors.Is(err, posthouse.ErrForbidden) {
					break
				}
				if err != nil {
					return err
				}
				s.Grants = append(s.Grants, grant)
			case "sleep":
				if err := step.Sleep(ctx, "night", 12*time.Hour); err != nil {
					return err
				}
			case "act":
				if len(s.Grants) == 0 {
					break
				}
				if _, err := gate.Act(ctx, "pay", s.Grants[0], func(context.Context, bankTransfer) (int, error) { return 1, nil }); err != nil && !errors.Is(err, posthouse.ErrForbidden) {
					return err
				}
				s.Grants = s.Grants[1:]
				s.Acted++
			}
			s.At++
			return nil
		})
		g.Edge(graph.Start, "do")
		g.Route("do", func(s *plan) string {
			if s.At < len(s.Ops) {
				return "do"
			}
			return graph.End
		})
		app := must(g.Compile(h.ledger, nil))(h)
		ops := func() []string {
			return rapid.SliceOfN(rapid.SampledFrom([]string{"propose", "propose", "sleep", "count", "act"}), 1, 12).Draw(rt, "ops")
		}
		policy := func() {
			p := retain.Policy{
				MaxAge: time.Duration(rapid.SampledFrom([]int{0, 1, 20}).Draw(rt, "age")) * time.Hour, MaxPerThread: rapid.IntRange(1, 3).Draw(rt, "most"),
				DropSources: rapid.Bool().Draw(rt, "sources"), Released: time.Hour,
			}
			must(retain.Run(h.Context(), h.ledger, p, nil))(h)
			compact(h)
		}
		for range rapid.IntRange(1, 2).Draw(rt, "generations") {
			if _, err := app.Run(h.Context(), "t", plan{Ops: ops()}); err != nil {
				rt.Fatal(err)
			}
			branches := []string{posthouse.MainBranch}
			for round := 0; round < 40; round++ {
				for _, q := range h.inbox("t") {
					v := rapid.SampledFrom([]posthouse.Verdict{posthouse.Approve, posthouse.Approve, posthouse.Reject}).Draw(rt, "verdict")
					h.decide(q.ID, v, "alice")
				}
				h.now = h.now.Add(time.Duration(rapid.IntRange(1, 40).Draw(rt, "hours")) * time.Hour)
				policy()
				if round < 10 && rapid.IntRange(0, 3).Draw(rt, "fork") == 0 {
					var ids []posthouse.ID
					for c, err := range h.ledger.List(h.Context(), posthouse.Query{Thread: "t"}) {
						if err != nil {
							rt.Fatal(err)
						}
						ids = append(ids, c.ID)
					}
					f := must(h.ledger.Fork(h.Context(), rapid.SampledFrom(ids).Draw(rt, "from"), nil))(h)
					branches = append(branches, f.Branch)
				}
				over := true
				for _, b := range branches {
					out, err := app.Resume(h.Context(), "t", graph.RunOptions{Branch: b})
					if err != nil && !errors.Is(err, posthouse.ErrConflict) {
						rt.Fatalf("branch %s: %v", b, err)
					}
					over = over && (err != nil || out.Status != posthouse.StatusWaiting)
				}
				if over {
					break
				}
			}
			must(h.ledger.Release(h.Context(), "t", nil))(h)
		}
		if r := must(sign.Verify(h.Context(), h.store, nil, nil))(h); len(r.Faults) > 0 {
			rt.Fatalf("verify: %v", r.Faults)
		}
	})
}

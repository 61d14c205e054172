package content_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/coord"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
)

// A denial stands, whatever is deployed, changed beside it, forked or restarted.
func TestAttemptToGoRoundADenial(t *testing.T) {
	onStores(t, func(h *house) {
		var q gate.Question
		build := func(b *bank) *graph.App[deal] {
			g := graph.New[deal]("denial")
			g.Node("pay", func(ctx context.Context, s *deal) error {
				grant, err := gate.Propose(ctx, q, bankTransfer{"bob", s.Amount})
				if err != nil {
					return err
				}
				_, err = gate.Act(ctx, "pay", grant, b.pay)
				return err
			})
			g.Edge(graph.Start, "pay")
			g.Edge("pay", graph.End)
			return must(g.Compile(h.ledger, nil))(h)
		}
		head := func(thread string) posthouse.ID {
			return must(h.ledger.Thread(h.Context(), thread))(h).Branches[0].Head
		}
		for name, way := range map[string]func(app *graph.App[deal], thread string) (branch string){
			"resume":      func(*graph.App[deal], string) string { return "" },
			"accept":      func(*graph.App[deal], string) string { q.Auto = &gate.Auto{Accept: true}; return "" },
			"verdicts":    func(*graph.App[deal], string) string { q.Verdicts = []posthouse.Verdict{posthouse.Approve}; return "" },
			"assignees":   func(*graph.App[deal], string) string { q.Assignees = []string{"carol"}; return "" },
			"no deadline": func(*graph.App[deal], string) string { q.Expires = 0; return "" },
			"update": func(app *graph.App[deal], thread string) string {
				must(app.Update(h.Context(), thread, func(s *deal) { s.Receipt = "x" }))(h)
				return ""
			},
			"anew": func(_ *graph.App[deal], thread string) string {
				must(h.ledger.RestartStep(h.Context(), head(thread), nil))(h)
				return ""
			},
			"fork": func(app *graph.App[deal], thread string) string {
				return must(app.Fork(h.Context(), head(thread), nil))(h).Header.Branch
			},
		} {
			b, thread := &bank{}, strings.ReplaceAll(name, " ", "-")
			q = gate.Question{Name: "pay", Expires: time.Hour}
			must(build(b).Run(h.Context(), thread, deal{Amount: 10}))(h)
			h.decide(h.only(thread).ID, posthouse.Reject, "alice")
			if _, err := build(b).Resume(h.Context(), thread); !errors.Is(err, posthouse.ErrForbidden) {
				h.Fatal(err)
			}
			h.restart()
			branch := way(build(b), thread)
			_, err := build(b).Resume(h.Context(), thread, graph.RunOptions{Branch: branch})
			if b.want(h); !errors.Is(err, posthouse.ErrForbidden) || len(h.inbox(thread)) != 0 {
				h.Errorf("%s: %v, and %d questions", name, err, len(h.inbox(thread)))
			}
		}
	})
}

// A rule that became stricter between the approval and the effect has the same
// content decided again; one that became laxer gives an approval no more than it had.
func TestAttemptToUseAnApprovalOfALaxerRule(t *testing.T) {
	yes := posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}
	edit := posthouse.Decision{Verdict: posthouse.Edit, By: "alice", Value: []byte(`{"To":"bob","Amount":10}`)}
	for name, tc := range map[string]struct {
		before, after gate.Question
		d             posthouse.Decision
	}{
		"quorum":        {after: gate.Question{Quorum: &posthouse.Quorum{Need: 2}}, d: yes},
		"requester":     {after: gate.Question{RequestedBy: "alice"}, d: yes},
		"no edits":      {after: gate.Question{Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Reject}}, d: edit},
		"schema":        {after: gate.Question{Schema: []byte(`{"properties":{"Amount":{"maximum":5}}}`)}, d: edit},
		"for an hour":   {after: gate.Question{ValidFor: time.Hour}, d: yes},
		"for less time": {before: gate.Question{ValidFor: 5 * time.Hour}, after: gate.Question{ValidFor: time.Hour}, d: yes},
		"fewer effects": {before: gate.Question{Uses: 2}, after: gate.Question{}, d: yes},
		"accepted":      {before: gate.Question{Auto: &gate.Auto{Accept: true}}, after: gate.Question{Quorum: &posthouse.Quorum{Need: 2}}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			onStores(t, func(h *house) {
				b, q, stop := &bank{}, tc.before, true
				app := flowOf(h, func(ctx context.Context) (string, error) {
					own := q
					own.Name = "pay"
					grant, err := gate.Propose(ctx, own, bankTransfer{"bob", 10})
					if err != nil || stop {
						return "", errors.Join(err, map[bool]error{true: errors.New("stopped")}[err == nil])
					}
					return gate.Act(ctx, "pay", grant, b.pay)
				})
				_, _ = app.Run(h.Context(), "t", 0)
				if tc.d.By != "" {
					must(h.ledger.Decide(h.Context(), h.only("t").ID, tc.d))(h)
					_, _ = app.Resume(h.Context(), "t")
				}
				stop, q = false, tc.after
				h.now = h.now.Add(2 * time.Hour)
				_, _ = app.Resume(h.Context(), "t")
				if b.want(h); len(h.inbox("t")) != 1 {
					h.Fatal("nobody is asked")
				}
			})
		})
	}
}

// Votes for one content do not count for another.
func TestAttemptToCarryVotesOver(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		app := dealing(h, b, dealOptions{question: func(bankTransfer) gate.Question {
			return gate.Question{Name: "pay", Quorum: &posthouse.Quorum{Need: 2}}
		}})
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		first := h.only("t").ID
		h.decide(first, posthouse.Approve, "alice")
		must(app.Update(h.Context(), "t", func(s *deal) { s.Amount = 99 }))(h)
		must(app.Resume(h.Context(), "t"))(h)
		if _, err := h.ledger.Decide(h.Context(), first, posthouse.Decision{Verdict: posthouse.Approve, By: "mia"}); err == nil {
			h.Fatal("the old question takes a vote")
		}
		h.decide(h.only("t").ID, posthouse.Approve, "mia")
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(app.Resume(h.Context(), "t"))(h)
		b.want(h, bankTransfer{"bob", 99})
	})
}

// A program that passes over what Propose says has nothing to act under.
func TestAttemptToActBeforeTheDecision(t *testing.T) {
	onStores(t, func(h *house) {
		for _, v := range []posthouse.Verdict{"", posthouse.Reject, posthouse.Cancel} {
			b, thread := &bank{}, "t"+string(v)
			var id posthouse.ID
			app := flowOf(h, func(ctx context.Context) (string, error) {
				grant, err := propose(ctx, "pay", bankTransfer{"bob", 10})
				if grant == "" {
					grant = gate.Grant(id)
				}
				if id == "" {
					return "", err
				}
				_, err = gate.Act(ctx, "pay", grant, b.pay)
				return "", err
			})
			must(app.Run(h.Context(), thread, 0))(h)
			id = h.only(thread).ID
			if v != "" {
				h.decide(id, v, "alice")
			}
			_, err := app.Resume(h.Context(), thread)
			if b.want(h); v != "" && !errors.Is(err, posthouse.ErrForbidden) {
				h.Errorf("%s: %v", v, err)
			}
		}
	})
}

// Nodes beside each other share an approval as little as goroutines do.
func TestAttemptToSplitAGrantAmongNodes(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		g := graph.New[deal]("split")
		g.Node("propose", func(ctx context.Context, s *deal) (err error) {
			s.Grant, err = propose(ctx, "pay", bankTransfer{"bob", s.Amount})
			return err
		})
		g.Edge(graph.Start, "propose")
		for i := range 3 {
			name := fmt.Sprint("pay", i)
			g.Node(name, func(ctx context.Context, s *deal) error {
				_, err := gate.Act(ctx, "pay", s.Grant, b.pay)
				return err
			}, graph.NodeOptions{Retry: posthouse.RetryPolicy{MaxAttempts: 3, InitialDelay: -1}})
			g.Edge("propose", name)
			g.Edge(name, graph.End)
		}
		app := must(g.Compile(h.ledger, nil))(h)
		must(app.Run(h.Context(), "t", deal{Amount: 10}))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		for range 3 {
			if _, err := app.Resume(h.Context(), "t"); !errors.Is(err, posthouse.ErrForbidden) {
				h.Fatal(err)
			}
		}
		b.want(h, bankTransfer{"bob", 10})
	})
}

// A coordinator's next request finds no license in the one before it.
func TestAttemptToCarryAGrantToTheNextRequest(t *testing.T) {
	onStores(t, func(h *house) {
		b := &bank{}
		var kept gate.Grant
		fleet := must(coord.NewFleet(coord.Agent{Name: "payer", Skills: map[string]coord.Skill{"pay": func(ctx context.Context, c coord.Call) (coord.Result, error) {
			grant := kept
			if grant == "" {
				var err error
				grant, err = propose(ctx, "pay", bankTransfer{"bob", 10})
				if err != nil {
					return coord.Result{}, err
				}
				kept = grant
			}
			r, err := gate.Act(ctx, "pay", grant, b.pay)
			return coord.Result{Text: r}, err
		}}}))(h)
		desk := must(coord.New(h.ledger, "desk", fleet, func(ctx context.Context, message string, f *coord.Fleet, s *coord.Session) error {
			r, err := f.Agent("payer").Call(ctx, "pay", message)
			s.Stream(r.Text)
			return err
		}, nil))(h)
		must(desk.Handle(h.Context(), "pay", &coord.HandleOptions{Thread: "t"}))(h)
		h.decide(h.only("t").ID, posthouse.Approve, "alice")
		must(desk.Resume(h.Context(), "t", nil))(h)
		b.want(h, bankTransfer{"bob", 10})
		for _, thread := range []string{"t", "other"} {
			r, err := desk.Handle(h.Context(), "pay", &coord.HandleOptions{Thread: thread})
			if b.want(h, bankTransfer{"bob", 10}); err == nil && r.Gate == "" && r.Status != posthouse.StatusFailed {
				h.Errorf("thread %s: %+v", thread, r)
			}
		}
	})
}

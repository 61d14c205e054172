package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// park commits the questions of a node, as a model does.
func park(t testing.TB, s *session.Session, tk *engine.Task) *posthouse.Committed {
	t.Helper()
	var keep []posthouse.ID
	for _, g := range tk.Gates().Open() {
		keep = append(keep, g.ID)
	}
	return commit(t, s, posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Next: []string{"work"}},
		ledger.Draft{Gates: tk.Gates().New(), Keep: keep, Steps: tk.Records().Held()})
}

func TestAsk(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	if tk.Waiting() {
		t.Fatal("nothing was asked")
	}
	for range 2 {
		if _, err := tk.Gates().Ask(ctx, posthouse.Gate{Name: "ok"}); !errors.Is(err, posthouse.ErrWaiting) {
			t.Fatal(err)
		}
	}
	if !tk.Waiting() || len(tk.Gates().New()) != 2 || len(tk.Gates().Open()) != 0 {
		t.Fatal(tk.Gates().New())
	}
	done := park(t, s, tk)
	ids := []posthouse.ID{done.Gates[0].ID, done.Gates[1].ID}
	if ids[0] == ids[1] {
		t.Fatal("two questions, one id")
	}

	if _, err := l.Decide(ctx, ids[1], posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); err != nil {
		t.Fatal(err)
	}
	s, tk = again(t, l, s)
	if _, err := tk.Gates().Ask(ctx, posthouse.Gate{Name: "ok"}); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	g, err := tk.Gates().Ask(ctx, posthouse.Gate{Name: "ok"})
	if err != nil || g.ID != ids[1] || g.Decision.By != "bob" {
		t.Fatal(g, err)
	}
	if open := tk.Gates().Open(); len(open) != 1 || open[0].ID != ids[0] || len(tk.Gates().New()) != 0 || !tk.Waiting() {
		t.Fatalf("open %v, tk.Gates().New() %v", open, tk.Gates().New())
	}
	// A third question keeps the first gate open under its id.
	if _, err := tk.Gates().Ask(ctx, posthouse.Gate{Name: "more"}); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	park(t, s, tk)
	if _, err := l.Decide(ctx, ids[0], posthouse.Decision{Verdict: posthouse.Reject, By: "eve"}); err != nil {
		t.Fatal(err)
	}
	_, tk = again(t, l, s)
	g, err = tk.Gates().Ask(ctx, posthouse.Gate{Name: "ok"})
	if err != nil || g.ID != ids[0] || g.Decision.Verdict != posthouse.Reject {
		t.Fatal(g, err)
	}
}

func TestAskInsideAStep(t *testing.T) {
	ctx := context.Background()
	l := open(t, memstore.New(), nil)
	s := begin(t, l, "t1")
	input(t, s)
	program := func(tk *engine.Task) (posthouse.Value, error) {
		return tk.Do(ctx, "outer", 0, func(ctx context.Context) (posthouse.Value, error) {
			g, err := tk.Gates().Ask(ctx, posthouse.Gate{Name: "ok"})
			if err != nil {
				return posthouse.Value{}, err
			}
			return value(string(g.Decision.Verdict)), nil
		})
	}
	tk := task(t, s, "work")
	if _, err := program(tk); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	if q := tk.Gates().New(); q[0].Name != "outer>ok" {
		t.Fatal(q)
	}
	id := park(t, s, tk).Gates[0].ID
	if _, err := l.Decide(ctx, id, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}); err != nil {
		t.Fatal(err)
	}
	_, tk = again(t, l, s)
	if v, err := program(tk); err != nil || string(v.Data) != `"approve"` {
		t.Fatal(v, err)
	}
}

func TestAskPutsAPassedDeadlineOnRecord(t *testing.T) {
	ctx, clk := context.Background(), newClock()
	l := open(t, memstore.New(), &ledger.Options{Now: clk.now})
	s := begin(t, l, "t1")
	input(t, s)
	tk := task(t, s, "work")
	q := posthouse.Gate{Name: "ok", ExpiresAt: clk.now().Add(time.Hour)}
	if _, err := tk.Gates().Ask(ctx, q); !errors.Is(err, posthouse.ErrWaiting) {
		t.Fatal(err)
	}
	id := park(t, s, tk).Gates[0].ID
	clk.advance(time.Hour)
	s, tk = again(t, l, s)
	g, err := tk.Gates().Ask(ctx, q)
	if err != nil || g.ID != id || g.Decision.Verdict != posthouse.Expire {
		t.Fatal(g, err)
	}
	if g, err := l.Gate(ctx, id); err != nil || g.Decision == nil {
		t.Fatal("not on record:", g, err)
	}
	commit(t, s, posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusDone, Node: "work"}, ledger.Draft{})
}

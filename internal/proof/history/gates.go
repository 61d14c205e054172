package history

import (
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/history/model"
	"github.com/posthouse/posthouse/ledger"
)

// gates asks questions through a Ledger, and decides and withdraws them.
type gates struct {
	*client
	l   *ledger.Ledger
	ids map[string]string // of questions, by thread
	at  int               // the newest thread
}

// threads is how many threads have a question.
const threads = 8

func newGates(c *client) player { return &gates{client: c, ids: map[string]string{}} }

func (*gates) name() string { return "gates" }

func (g *gates) close() {
	if g.l != nil {
		_ = g.l.Close()
	}
}

func (g *gates) open() (err error) {
	if g.l == nil {
		g.l, err = ledger.Open(g.store, &ledger.Options{Owner: fmt.Sprint("gates-", g.number)})
	}
	return err
}

func (g *gates) play() error {
	if err := g.open(); err != nil {
		return skip(err)
	}
	if g.at < threads-1 && g.rnd.IntN(6) == 0 {
		g.at++
	}
	thread := fmt.Sprint("g", g.at)
	if g.rnd.IntN(6) == 0 {
		thread = fmt.Sprint("g", g.rnd.IntN(g.at+1))
	}
	id := g.ids[thread]
	switch n := g.rnd.IntN(10); {
	case id == "" && n < 5:
		return g.ask(thread)
	case id == "" || n < 2:
		return g.inbox(thread)
	case n < 4:
		return g.read(thread, id)
	case n < 5:
		return g.decide(thread, id, posthouse.Decision{Verdict: posthouse.Cancel, By: posthouse.RuntimeActor})
	}
	return g.decide(thread, id, posthouse.Decision{Verdict: posthouse.Approve, By: "somebody"})
}

func (g *gates) audit() error {
	err := g.open()
	for i := 0; i < threads && err == nil; i++ {
		err = g.inbox(fmt.Sprint("g", i))
	}
	return err
}

func (g *gates) ask(thread string) error {
	none := posthouse.ID("")
	out, err := g.do(model.Op{Model: g.name(), Do: model.Ask, Key: thread}, func() (out model.Answer, err error) {
		made, err := g.l.Commit(g.ctx, &ledger.Draft{
			Thread: thread, Head: &none,
			Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "n", Next: []string{"n"}},
			Gates:      []posthouse.Gate{{Name: "q", Text: "Go on?"}},
		})
		if err == nil {
			out.ID = string(made.Gates[0].ID)
		}
		return out, err
	})
	if out.ID != "" {
		g.ids[thread] = out.ID
	}
	return err
}

func (g *gates) inbox(thread string) error {
	out, err := g.do(model.Op{Model: g.name(), Do: model.Inbox, Key: thread}, func() (out model.Answer, err error) {
		for q, err := range g.l.Gates(g.ctx, ledger.GateQuery{Thread: thread}) {
			if err != nil {
				return out, err
			}
			if out.ID != "" {
				return out, errors.New("two questions are open")
			}
			out.ID = string(q.ID)
		}
		return out, nil
	})
	if out.ID != "" {
		g.ids[thread] = out.ID
	}
	return err
}

func (g *gates) read(thread, id string) error {
	_, err := g.do(model.Op{Model: g.name(), Do: model.Read, Key: thread, ID: id}, func() (out model.Answer, err error) {
		q, err := g.l.Gate(g.ctx, posthouse.ID(id))
		if err == nil {
			out.Value = decisionOf(q.Decision)
		}
		return out, err
	})
	return err
}

func (g *gates) decide(thread, id string, d posthouse.Decision) error {
	d.Reason = fmt.Sprint(g.number, ".", g.n)
	op := model.Op{Model: g.name(), Do: model.Decide, Key: thread, ID: id, Value: decisionOf(&d)}
	_, err := g.do(op, func() (out model.Answer, err error) {
		var q *posthouse.Gate
		if d.Verdict == posthouse.Cancel {
			q, err = g.l.Withdraw(g.ctx, posthouse.ID(id), ledger.Withdrawal{By: d.By, Reason: d.Reason})
		} else {
			q, err = g.l.Decide(g.ctx, posthouse.ID(id), d)
		}
		var e *posthouse.Error
		switch {
		case err == nil && decisionOf(q.Decision) != op.Value:
			return out, fmt.Errorf("decided %q and got %q", op.Value, decisionOf(q.Decision))
		case errors.As(err, &e) && e.Decision != nil:
			out.Value = decisionOf(e.Decision)
		}
		return out, err
	})
	return err
}

func decisionOf(d *posthouse.Decision) string {
	if d == nil {
		return ""
	}
	return string(d.Verdict) + " " + d.Reason
}

package bench

import (
	"context"
	"fmt"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
)

// A conversation is the state of the 400-turn workload. A turn has four
// checkpoints and three messages; one text never changes.
type conversation struct {
	Messages []message `posthouse:"append"`
	Manual   string
	Turns    int
}

// turns is the workload at which LangGraph's SQLite layout stores 487 MB.
func turns(s *session) error {
	n := s.n(400)
	w := newWords(11)
	say := func(role string) func(context.Context, *conversation) error {
		return func(_ context.Context, c *conversation) error {
			c.Messages = append(c.Messages, message{role, w.text(400)})
			return nil
		}
	}
	g := graph.New[conversation]("turns")
	g.Node("think", say("thought"))
	g.Node("answer", say("agent"))
	g.Node("count", func(_ context.Context, c *conversation) error { c.Turns++; return nil })
	g.Edge(graph.Start, "think")
	g.Edge("think", "answer")
	g.Edge("answer", "count")
	g.Edge("count", graph.End)
	compile := func(l *ledger.Ledger) (*graph.App[conversation], error) { return g.Compile(l, nil) }
	m, err := timed(s, s.sqlite, compile, 4*n, func(app *graph.App[conversation]) error {
		manual := w.text(20 << 10)
		for i := range n {
			s.opt.Progress(s.current, fmt.Sprintf("turn %d of %d", i+1, n))
			if _, err := app.Run(s.ctx, "talk", conversation{Messages: []message{{"user", w.text(400)}}, Manual: manual}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	mb := float64(m.bytes) / 1e6
	s.atMost("database", "MB", mb, 0, mb, 1.5)
	s.note("checkpoints", "checkpoints/s", m.rate(), 0)
	return nil
}

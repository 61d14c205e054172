package conversation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// ToolApprovals are the sessions of open conversations. The tools of agents ask for approval on their
// connections; see [gate.Require].
type ToolApprovals struct {
	relay *ledger.Ledger // through which other processes answer; nil: the store is this process's alone

	mu   sync.Mutex
	open map[*gate.Session]bool
}

// NewToolApprovals returns ToolApprovals without sessions.
func NewToolApprovals(l *ledger.Ledger) *ToolApprovals {
	t := &ToolApprovals{relay: l, open: map[*gate.Session]bool{}}
	if x, ok := l.Store().(posthouse.Excluder); ok && x.Exclusive() {
		t.relay = nil
	}
	return t
}

// Shared reports whether other processes may have the store open: their sessions ask there too.
func (t *ToolApprovals) Shared() bool { return t.relay != nil }

// Sessions returns those of this process.
func (t *ToolApprovals) Sessions() []*gate.Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.open))
}

func (t *ToolApprovals) openSession(o *gate.SessionOptions) *gate.Session {
	o.Ledger = t.relay
	s := gate.NewSession(o)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[s] = true
	return s
}

// closeSession closes a session and denies what still waits in it.
func (t *ToolApprovals) closeSession(s *gate.Session) {
	t.mu.Lock()
	delete(t.open, s)
	t.mu.Unlock()
	s.Close()
}

// Answer offers an answer to the sessions in turn until one has the approval. Those of other
// processes come last, by elsewhere.
func (t *ToolApprovals) Answer(id posthouse.ID, here func(*gate.Session) (*posthouse.Gate, error), elsewhere func(gate.Relay) (*posthouse.Gate, error)) (*posthouse.Gate, error) {
	for _, s := range t.Sessions() {
		if g, err := here(s); !errors.Is(err, posthouse.ErrNotFound) {
			return g, err
		}
	}
	if t.relay != nil {
		if g, err := elsewhere(gate.Relay{Ledger: t.relay}); !errors.Is(err, posthouse.ErrNotFound) {
			return g, err
		}
	}
	e := problem.NotFound("approval that waits:", string(id))
	e.Hint = "it was answered, ran out, or its connection closed"
	return nil, e
}

// answerMessage answers an approval by a message of a conversation.
func (t *ToolApprovals) answerMessage(ctx context.Context, m gate.Message, actor tokens.Token) (*posthouse.Gate, error) {
	if err := auth.RequireRole(actor, tokens.Approver); err != nil {
		return nil, err
	}
	by, sender, err := auth.ActingFor(actor, m.By)
	if err != nil {
		return nil, err
	}
	return t.Answer(m.ID,
		func(s *gate.Session) (*posthouse.Gate, error) { return s.Answer(m, by, sender) },
		func(r gate.Relay) (*posthouse.Gate, error) { return r.Answer(ctx, m, by, sender) })
}

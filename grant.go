package posthouse

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// A GrantStatus says how far an approved effect has come.
type GrantStatus string

// The states of a grant, in their order.
const (
	GrantProposed GrantStatus = "proposed" // its gate waits
	GrantDecided  GrantStatus = "decided"  // the gate is decided, and no effect ran
	GrantReleased GrantStatus = "released" // an effect was let go, and a run is at it
	GrantExecuted GrantStatus = "executed" // as many effects as it licenses have their result on record
	GrantUnknown  GrantStatus = "unknown"  // an effect was let go, and nobody knows what became of it
)

// A Use is one effect that ran, or may have run: under a gate's decision, or, where
// Grant is "", without one.
type Use struct {
	Generation uint32      `json:"generation"` // of the thread
	Branch     string      `json:"branch"`
	Task       string      `json:"task,omitempty"`       // the execution; "" for a node as a whole
	Name       string      `json:"name"`                 // of the step, or of the node
	Occurrence uint32      `json:"occurrence,omitempty"` // of the step
	Grant      ID          `json:"grant,omitempty"`      // the gate whose decision licensed it
	Status     GrantStatus `json:"status"`               // decided, released, executed or unknown
	Failed     int         `json:"failed,omitempty"`     // attempts that are known not to have acted
	First      uint64      `json:"first"`                // the first entry about it
	Seq        uint64      `json:"seq"`                  // the newest
	At         time.Time   `json:"at"`                   // of that entry
	Effect     Effect      `json:"effect"`               // its class

	// Result is what is on record of its outcome: none if it has none yet, or was
	// removed. Only [Ledger.Grant] fills it.
	Result Value `json:"-"`

	released int // attempts
	record   int // of its result, in entry Seq
}

// A Grant is a gate as a license for effects: what was shown to whom, what was
// decided, and what ran under it.
type Grant struct {
	Gate   *Gate       `json:"gate"`
	Status GrantStatus `json:"status"`
	Uses   []Use       `json:"uses"` // in the order they were let go
}

// Licensed returns the content that a gate's decision approved: what was shown, or
// the edit. Nil unless it was approved.
func (g *Gate) Licensed() json.RawMessage {
	switch d := g.Decision; {
	case d == nil:
	case d.Verdict == Approve:
		return g.Payload
	case d.Verdict == Edit:
		return d.Value
	}
	return nil
}

// Grant returns what became of a gate's decision. [ErrNotFound] for the gate.
func (l *Core) Grant(ctx context.Context, gate ID) (*Grant, error) {
	g, err := l.Gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	grant := &Grant{Gate: g, Status: GrantDecided, Uses: []Use{}}
	if g.Decision == nil {
		grant.Status = GrantProposed
		return grant, nil
	}
	if grant.Uses, err = l.usesOf(ctx, g); err != nil {
		return nil, err
	}
	executed := 0
	for i := range grant.Uses {
		u := &grant.Uses[i]
		switch s := u.Status; {
		case s == GrantExecuted:
			executed++
			if err := l.result(ctx, g.Thread, u); err != nil {
				return nil, err
			}
		case grant.Status != GrantUnknown:
			grant.Status = s
		}
	}
	if grant.Status == GrantDecided && executed > 0 && executed >= g.Uses {
		grant.Status = GrantExecuted
	}
	return grant, nil
}

// result reads the outcome of an effect that ran.
func (l *Core) result(ctx context.Context, thread string, u *Use) error {
	for e, err := range l.store.Read(ctx, thread, Range{Seqs: []uint64{u.Seq}}) {
		if err != nil {
			return err
		}
		recs, err := l.opened(ctx, e)
		if err != nil {
			return err
		}
		if r := &recs[u.record]; r.Step != nil && (r.Size == 0 || len(e.Bodies[u.record]) > 0) {
			u.Result = Value{r.Step.Codec, e.Bodies[u.record]}
		}
	}
	return nil
}

// Uses returns the effects that were let go under a gate's decision, oldest first.
// It reads the headers of the log from the gate on. [ErrNotFound] for the gate.
func (l *Core) Uses(ctx context.Context, gate ID) ([]Use, error) {
	g, err := l.Gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	return l.usesOf(ctx, g)
}

func (l *Core) usesOf(ctx context.Context, g *Gate) ([]Use, error) {
	return l.gatherUses(ctx, g.Thread, g.Seq, func(s *StepInfo) bool { return s.Grant == g.ID })
}

// Effects returns what acted on the world in a thread, oldest first, in released
// versions too: whatever ran under a gate's decision, and steps and nodes of class
// [EffectExternal] that no gate licensed, whose Grant is "". What a copy or a fork
// took along from another thread names the gates there. It reads the headers of the
// whole log. [ErrNotFound] for the thread.
func (l *Core) Effects(ctx context.Context, thread string) ([]Use, error) {
	return l.gatherUses(ctx, thread, 1, func(*StepInfo) bool { return true })
}

// gatherUses reads the uses of a log from an entry on, of the steps that are wanted.
func (l *Core) gatherUses(ctx context.Context, thread string, from uint64, want func(*StepInfo) bool) ([]Use, error) {
	info, none := l.Thread(ctx, thread)
	if none != nil && !errors.Is(none, ErrNotFound) {
		return nil, none
	}
	held := none == nil && info.Lease.Held
	g := GatherUses()
	for e, err := range l.inOrder(ctx, thread, Range{From: from, Headers: true}) {
		if err != nil {
			return nil, err
		}
		none = nil // a thread that was released, and has not begun anew
		recs, err := e.check()
		if err != nil {
			return nil, err
		}
		for i := range recs {
			if s := recs[i].Step; s == nil && from == 1 || s != nil && want(s) {
				g.Add(e, i, &recs[i])
			}
		}
	}
	return g.Uses(held), none
}

// RequiresGrants reports whether effects on the world run under a grant only; see
// Options.RequireGrants.
func (l *Core) RequiresGrants() bool { return l.opt.RequireGrants }

// NeedsGrant is the error of an effect on the world that nobody approved, where
// Options.RequireGrants asks for that.
func NeedsGrant(step string) error {
	return &Error{
		Code: CodeForbidden, Field: "effect", Message: "step " + step + " acts on the world without a grant, and this ledger asks for one",
		Hint: "propose it (gate.Propose) and run it under the decision (gate.Act)",
	}
}

// Reconsider asks Options.Policy again about everybody whose hand was on a gate's
// decision: an approval is not authority for ever. It returns the policy's error.
func (l *Core) Reconsider(g *Gate) error {
	if l.opt.Policy == nil || g.Decision == nil || g.Decision.Seq == g.Seq { // decided as it was opened: nobody's hand
		return nil
	}
	decisions := []Decision{*g.Decision}
	if g.Quorum != nil {
		decisions = g.Votes
	}
	asked := g.clone()
	asked.Decision = nil
	for i := range decisions {
		if err := l.opt.Policy(asked, decisions[i].clone()); err != nil {
			return err
		}
	}
	return nil
}

// kind returns the change's kind, "" for no change.
func (c *Change) kind() string {
	if c == nil {
		return ""
	}
	return c.Kind
}

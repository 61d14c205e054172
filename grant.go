package posthouse

import (
	"context"
	"slices"
	"strings"
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

// A Use is one effect that ran, or may have run, under a gate's decision.
type Use struct {
	Task       string      `json:"task"`       // the execution
	Name       string      `json:"name"`       // of the step
	Occurrence uint32      `json:"occurrence"` // of the step
	Status     GrantStatus `json:"status"`     // released, executed or unknown
	Failed     int         `json:"failed"`     // attempts that are known not to have acted
	Seq        uint64      `json:"seq"`        // the newest entry about it
	At         time.Time   `json:"at"`         // of that entry
	Effect     Effect      `json:"effect"`     // its class
	released   int         // attempts
}

// A Grant is a gate as a license for effects: what was shown to whom, what was
// decided, and what ran under it.
type Grant struct {
	Gate   *Gate       `json:"gate"`
	Status GrantStatus `json:"status"`
	Uses   []Use       `json:"uses"` // in the order they were let go
}

// Grant returns what became of a gate's decision. [ErrNotFound] for the gate.
func (l *Ledger) Grant(ctx context.Context, gate ID) (*Grant, error) {
	g, err := l.Gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	grant := &Grant{Gate: g, Status: GrantDecided, Uses: []Use{}}
	if g.Decision == nil {
		grant.Status = GrantProposed
		return grant, nil
	}
	if grant.Uses, err = l.Uses(ctx, gate); err != nil {
		return nil, err
	}
	executed := 0
	for i := range grant.Uses {
		switch s := grant.Uses[i].Status; {
		case s == GrantExecuted:
			executed++
		case grant.Status != GrantUnknown:
			grant.Status = s
		}
	}
	if grant.Status == GrantDecided && executed > 0 && executed >= g.Uses {
		grant.Status = GrantExecuted
	}
	return grant, nil
}

// Uses returns the effects that were let go under a gate's decision, oldest first.
// It reads the headers of the log from the gate on. [ErrNotFound] for the gate.
func (l *Ledger) Uses(ctx context.Context, gate ID) ([]Use, error) {
	g, err := l.Gate(ctx, gate)
	if err != nil {
		return nil, err
	}
	info, err := l.Thread(ctx, g.Thread)
	if err != nil {
		return nil, err
	}
	uses := []Use{}
	for e, err := range l.inOrder(ctx, g.Thread, Range{From: g.Seq, Headers: true}) {
		if err != nil {
			return nil, err
		}
		recs, err := e.check()
		if err != nil {
			return nil, err
		}
		for i := range recs {
			if s := recs[i].Step; s != nil && s.Grant == gate {
				uses = used(uses, s, e)
			}
		}
	}
	for i := range uses {
		u := &uses[i]
		switch {
		case u.Status == GrantExecuted:
		case u.released <= u.Failed:
			u.Status = GrantDecided
		case !info.Lease.Held:
			u.Status = GrantUnknown
		}
	}
	return uses, nil
}

// used adds what a step's record says of a use.
func used(uses []Use, s *StepInfo, e *Entry) []Use {
	name, n, what := s.Name, s.Occurrence, ""
	if i := strings.LastIndex(name, ">$"); i >= 0 {
		name, what = name[:i], name[i+1:]
		name, n = callOf(name)
	}
	i := slices.IndexFunc(uses, func(u Use) bool { return u.Task == s.Task && u.Name == name && u.Occurrence == n })
	if i < 0 {
		i, uses = len(uses), append(uses, Use{Task: s.Task, Name: name, Occurrence: n, Status: GrantReleased})
	}
	u := &uses[i]
	u.Seq, u.At, u.Effect = e.Seq, e.Time(), s.Effect
	switch what {
	case "$use":
		u.released++
	case "$failed":
		u.Failed++
	default:
		u.Status = GrantExecuted
	}
	return uses
}

// callOf takes a call as it is recorded in the names of what is within it apart:
// its name, and its number in brackets behind the first.
func callOf(call string) (name string, n uint32) {
	i := strings.LastIndexByte(call, '[')
	if i <= 0 || !strings.HasSuffix(call, "]") {
		return call, 0
	}
	for _, c := range call[i+1 : len(call)-1] {
		if c < '0' || c > '9' || n > 1<<28 {
			return call, 0
		}
		n = n*10 + uint32(c-'0')
	}
	return call[:i], n
}

// RequiresGrants reports whether effects on the world run under a grant only; see
// Options.RequireGrants.
func (l *Ledger) RequiresGrants() bool { return l.opt.RequireGrants }

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
func (l *Ledger) Reconsider(g *Gate) error {
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

package posthouse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"

	"github.com/posthouse/posthouse/internal/delta"
)

// A Rule is a further say in what may be written: Options.Rules are asked, in
// their order, about every commit before anything of it is. It is how a team
// keeps empty, oversized or secret-bearing states out of the log, whoever
// saves them.
type Rule struct {
	Name string // 1 to 200 bytes; the error names it

	// Check returns nil to let the commit pass. Any error, or a panic, refuses
	// it: nothing is written, the commit fails with an [ErrInvalid] that wraps
	// the error, its Field being "rule" and the name. When an append in between
	// makes the Ledger build the commit anew, Check is asked again. It runs
	// while the thread is held: it may read through the Ledger, but not write.
	Check func(ctx context.Context, p *Proposal) error
}

// A Proposal is a commit that is about to be written, for a [Rule] to look at.
// Nothing in it may be changed.
type Proposal struct {
	Thread string
	Branch string
	Header *Header // of the checkpoint, number and hash of its entry aside; nil where there is none
	Change *Change // the checkpoint as its writer told it; nil where there is none
	Steps  []Step  // results to record
	Gates  []Gate  // questions to open, with their ids

	checkpoint func() (*Checkpoint, error)
}

// Checkpoint returns the checkpoint as it will be read back, state and metadata
// included, or nil if the commit has none. What the process does not have in
// memory is read from the store; a rule that can do with Header costs nothing.
// [ErrInvalid] once the commit was let pass or refused.
func (p *Proposal) Checkpoint() (*Checkpoint, error) {
	if p.Header == nil {
		return nil, nil
	}
	if p.checkpoint == nil {
		return nil, invalid("proposal", "is no more: ask for its checkpoint before Check returns")
	}
	return p.checkpoint()
}

func checkRules(rules []Rule) error {
	for i, r := range rules {
		if r.Name == "" || len(r.Name) > MaxID || !validText(r.Name) {
			return invalid("Rules", "%d has no name of 1 to %d bytes of text", i, MaxID)
		}
		if r.Check == nil {
			return invalid("Rules", "%q has no Check", r.Name)
		}
	}
	return nil
}

// askRules puts what the entry holds to the rules.
func (c *Commit) askRules() error {
	a, d := c.tx, c.plan
	if len(a.l.opt.Rules) == 0 {
		return nil
	}
	p := &Proposal{Thread: d.Thread, Branch: d.Branch, Change: d.Checkpoint, Steps: d.Steps, Gates: c.made.Gates}
	if a.next != nil {
		p.Header = a.next.Header.clone()
		p.checkpoint = func() (*Checkpoint, error) { return a.proposed(d.Checkpoint) }
		defer func() { p.checkpoint = nil }() // a is used again
	}
	for _, r := range a.l.opt.Rules {
		if err := a.l.check(a.ctx, &r, p); err != nil {
			return &Error{
				Code: CodeInvalid, Field: "rule " + r.Name, Err: err,
				Message: "refuses a commit to branch " + d.Branch + " of thread " + d.Thread, Hint: "nothing was written",
			}
		}
	}
	return nil
}

func (l *Core) check(ctx context.Context, r *Rule, p *Proposal) (err error) {
	defer func() {
		if v := recover(); v != nil {
			l.opt.Logger.Error("a rule panicked", "rule", r.Name, "thread", p.Thread, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return r.Check(ctx, p)
}

// proposed puts together the checkpoint that a is about to write.
func (a *appending) proposed(c *Change) (*Checkpoint, error) {
	b := &rebuilt{header: *a.next.Header.clone(), state: State{}}
	for i := range a.next.parts {
		p := &a.next.parts[i]
		if !p.known {
			return a.derived(c)
		}
		b.state[p.name] = Value{p.codec, p.data}
	}
	return b.checkpoint()
}

// derived is proposed for a state that is too large to be kept in memory.
func (a *appending) derived(c *Change) (*Checkpoint, error) {
	out := &Checkpoint{Header: *a.next.Header.clone(), State: State{}}
	if seq := out.ParentSeq; seq != 0 {
		b, err := a.l.rebuild(a.ctx, a.t.name, seq)
		if err != nil {
			return nil, err
		}
		base, err := b.checkpoint()
		if err != nil {
			return nil, err
		}
		out.State, out.Program, out.Metadata = base.State, base.Program, base.Metadata
	}
	if c.Metadata != nil {
		out.Metadata = maps.Clone(c.Metadata)
	}
	if c.State != nil {
		out.State = c.State.Clone()
	}
	if out.Program == nil && len(c.Program) > 0 {
		out.Program = State{}
	}
	return out, errors.Join(out.State.apply(c.Parts), out.Program.apply(c.Program))
}

// apply makes s what the changed parts say.
func (s State) apply(parts []Part) error {
	for _, p := range parts {
		switch {
		case p.Drop:
			delete(s, p.Name)
		case p.Splice:
			data, err := delta.Apply(s[p.Name].Data, p.Prefix, p.Suffix, p.Data)
			if err != nil {
				return invalid("part "+p.Name, "%v", err)
			}
			s[p.Name] = Value{firstOf(p.Codec, "json"), data}
		default:
			s[p.Name] = Value{firstOf(p.Codec, "json"), slices.Clone(p.Data)}
		}
	}
	return nil
}

package commit

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A Commit turns a plan into one entry. Its stages run in order. Each is given the
// transaction, checks its conditions, adds its records and returns.
type Commit struct {
	tx    *core.Tx
	rules *Rules
	plan  *Plan

	head   posthouse.BranchHead // of the plan's branch
	exists bool                 // there is such a branch

	inStep   bool   // the checkpoint stays in the middle of its parent's step
	rootStep uint64 // of a root that a program's branch goes on with; 0: no root

	successors map[posthouse.ID]posthouse.ID // gates of the plan, by the open gate that each supersedes
	answered   map[int]*posthouse.Signal     // signals on record for the plan's gates, by their index

	made Made
}

// Made describes what a commit made.
type Made struct {
	posthouse.Committed

	// Coordination is that of the newest checkpoint, for a closed generation.
	Coordination string

	Left []posthouse.ID // gates of other threads that the branch no longer waits for

	Caller string // the thread that may wait for the end of this one, which the commit is; "" for no thread
}

// A stage is one step of a commit, and whether this plan takes it.
type stage struct {
	taken bool
	run   func(*Commit) error
}

// stages lists what a commit does with a validated plan, in order. core.Append then
// takes the last stages: seal, sign, put, apply.
func (c *Commit) stages() [16]stage {
	p := c.plan
	return [...]stage{
		{true, (*Commit).checkLease},
		{!p.Cancel, (*Commit).checkCancelled},
		{true, (*Commit).checkHead},
		{p.leaves(), (*Commit).checkSettled},
		{p.Checkpoint != nil && p.ByHand, (*Commit).findStep},
		{len(p.Steps) > 0, (*Commit).recordSteps},
		{len(p.Again) > 0, (*Commit).recordAgain},
		{len(p.ConsumedSignals) > 0, (*Commit).takeSignals},
		{p.ends() && len(c.tx.Thread.Info.Begun) > 0, (*Commit).askAbandoned},
		{p.Checkpoint != nil && len(c.tx.Thread.Info.Waiting) > 0, (*Commit).cancelLeftGates},
		{p.Checkpoint == nil && len(p.Open.Withdraw) > 0, (*Commit).withdrawGates},
		{p.Checkpoint != nil || len(p.Open.Withdraw) > 0, (*Commit).returnSignals},
		{p.Checkpoint != nil, (*Commit).addCheckpoint},
		{len(p.Inherit)+len(p.Decided)+len(p.Gates) > 0, (*Commit).openGates},
		{len(c.rules.Checks) > 0, (*Commit).askRules},
		{p.Release != nil, (*Commit).closeGeneration},
	}
}

// Write adds the records of a plan to the transaction, if the rules allow it. Its result is
// complete once the entry is on record.
func Write(tx *core.Tx, rules *Rules, p *Plan) (*Made, error) {
	c := &Commit{tx: tx, rules: rules, plan: p, inStep: p.Checkpoint != nil && p.Checkpoint.MidStep}
	c.made.Seq = tx.Seq
	for _, s := range c.stages() {
		if !s.taken {
			continue
		}
		if err := s.run(c); err != nil {
			return nil, err
		}
	}
	if tx.Next != nil {
		c.made.Checkpoint = &tx.Next.Header
	}
	if p.Release != nil || tx.Next != nil && p.Branch == posthouse.MainBranch && ends(tx.Next.Header.Status) {
		c.made.Caller = CallerOf(tx.Thread.Info)
	}
	return &c.made, nil
}

// Run appends one entry with the plan's records.
func Run(ctx context.Context, c *Committer, p *Plan) (*Made, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := p.nameBehalf(ctx); err != nil {
		return nil, err
	}
	p.TrySchemas(c.Rules)
	t, err := c.Lock(p.Thread)
	if err != nil {
		return nil, err
	}
	defer c.Unlock(t)
	var made *Made
	err = c.Append(ctx, t, func(tx *core.Tx) (err error) {
		made, err = Write(tx, c.Rules, p)
		return err
	})
	if errors.Is(err, errAskFirst) {
		err = askUnsettled(ctx, c, t, p.leftBranch())
	}
	if err != nil {
		return nil, err
	}
	made.complete(t.Info.Tail.Hash)
	if made.Release != nil {
		c.FreeClaim(t)
	}
	return made, nil
}

// complete adds the entry's hash, and copies the header for the caller.
func (m *Made) complete(h posthouse.Hash) {
	m.Hash = h
	for i := range m.Gates {
		m.Gates[i].Seq, m.Gates[i].Hash = m.Seq, h
	}
	for i := range m.Decided {
		m.Decided[i].Seq, m.Decided[i].Hash = m.Seq, h
	}
	if m.Release != nil {
		m.Release.Hash = h
	}
	if m.Checkpoint != nil {
		m.Checkpoint = m.Checkpoint.Clone()
	}
}

// Header returns the checkpoint's header, or nil.
func (m *Made) Header() *posthouse.Header {
	if m == nil {
		return nil
	}
	return m.Checkpoint
}

func (c *Commit) checkLease() error { return c.tx.CheckLease(c.plan.Claim) }

func (c *Commit) checkHead() error {
	tx, p := c.tx, c.plan
	tx.Branch = p.Branch
	c.head, c.exists = tx.Thread.Info.Branch(p.Branch)
	if tail := &tx.Thread.Info.Tail; p.Tail != 0 && p.Tail != tail.Seq {
		return &posthouse.Error{Code: posthouse.CodeConflict, Tail: tail, Message: "thread " + p.Thread + " has moved on", Hint: "look at it again"}
	}
	if p.Head == nil || *p.Head == c.head.Head {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Head: c.head.Head, Tail: &tx.Thread.Info.Tail,
		Message: "branch " + p.Branch + " of thread " + p.Thread + " has moved on to " + string(c.head.Head),
		Hint:    "load the head and derive from it, or fork",
	}
}

func (c *Commit) closeGeneration() error {
	done, err := closeGeneration(c.tx, c.plan.Release)
	if err != nil {
		return err
	}
	c.made.Release, c.made.Coordination = done.release, done.coordination
	c.made.Left = append(c.made.Left, done.left...)
	return nil
}

package posthouse

import "context"

// A Commit is a plan on its way into one entry. Its stages run in order; each is
// given the transaction, checks its conditions, adds its records and returns.
type Commit struct {
	tx   *appending
	plan *Plan

	head   BranchHead // of the plan's branch
	exists bool       // there is such a branch

	successors map[ID]ID       // gates of the plan by the open gate that each supersedes
	answered   map[int]*Signal // what is on record for the plan's gates, by their index

	made Made
}

// Made is what a commit made.
type Made struct {
	Committed
	Left []ID // gates of threads that the branch waited for, and does no more
}

// stages lists what a commit does, in order. What the log then does with the
// entry, which is to seal, sign, put and apply it, is in append.go.
func (c *Commit) stages() [10]func() error {
	return [10]func() error{
		c.checkLease,
		c.checkCancelled,
		c.checkHead,
		c.recordSteps,
		c.takeSignals,
		c.leaveGates,
		c.addCheckpoint,
		c.openGates,
		c.askRules,
		c.closeGeneration,
	}
}

// WritePlan adds the records of a plan to the transaction. What it returns is
// complete once the entry is on record.
func WritePlan(tx *appending, p *Plan) (*Made, error) {
	c := &Commit{tx: tx, plan: p}
	c.made.Seq = tx.seq
	for _, stage := range c.stages() {
		if err := stage(); err != nil {
			return nil, err
		}
	}
	if tx.next != nil {
		c.made.Checkpoint = &tx.next.Header
	}
	return &c.made, nil
}

// RunPlan appends one entry with what the plan holds.
func RunPlan(ctx context.Context, l *Core, p *Plan) (*Made, error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	t, err := l.lock(p.Thread)
	if err != nil {
		return nil, err
	}
	defer l.unlock(t)
	var made *Made
	err = l.append(ctx, t, func(tx *appending) (err error) {
		made, err = WritePlan(tx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	made.complete(t.info.Tail.Hash)
	if made.Release != nil {
		l.unclaim(t)
	}
	return made, nil
}

// complete adds the entry's hash, and makes the header the caller's own.
func (m *Made) complete(h Hash) {
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
		m.Checkpoint = m.Checkpoint.clone()
	}
}

// header returns the checkpoint's, nil if there is none.
func (m *Made) header() *Header {
	if m == nil {
		return nil
	}
	return m.Checkpoint
}

func (c *Commit) checkLease() error { return c.tx.checkLease(c.plan.Claim) }

// checkHead refuses a plan made for another head of its branch.
func (c *Commit) checkHead() error {
	tx, p := c.tx, c.plan
	tx.branch = p.Branch
	c.head, c.exists = tx.t.info.Branch(p.Branch)
	if p.Head == nil || *p.Head == c.head.Head {
		return nil
	}
	return &Error{
		Code: CodeConflict, Head: c.head.Head, Tail: &tx.t.info.Tail,
		Message: "branch " + p.Branch + " of thread " + p.Thread + " has moved on to " + string(c.head.Head),
		Hint:    "load the head and derive from it, or fork",
	}
}

// closeGeneration is the last record of a thread's generation.
func (c *Commit) closeGeneration() error {
	if c.plan.Release == nil {
		return nil
	}
	r, left, err := c.tx.release(c.plan.Release)
	c.made.Release, c.made.Left = r, append(c.made.Left, left...)
	return err
}

package posthouse

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
)

// CopyOptions refine a copy. Nil is the zero value.
type CopyOptions struct {
	Version uint32 // copy this released version; 0: the current generation
	Run     string // label of the copying as holder of the new thread; default "copy"
}

// CopyThread makes a new thread with the whole visible history of another:
// every kept checkpoint under a new id, its Source naming the original, with
// its branch, parent, count of steps and time. Gates are put again under new
// ids; those that the history answered are answered as they were, those that a
// branch ends at are open again, whatever was decided since. Results recorded
// for executions go along, so nothing runs twice; signals and votes do not. As
// with a fork, what could run is interrupted, and runs when it is resumed.
//
// What is read of the source has its hashes checked, as in any read; signatures are
// not, and the copy is signed by this Ledger's key, as what it wrote itself: verify
// first what it may not vouch for.
//
// The source may be in use: the copy is of what it was at the start. A copy
// that fails in the middle takes its thread away again. [ErrNotFound] for the
// source, [ErrExists] if there is a thread of the new name.
func (l *Core) CopyThread(ctx context.Context, from, to string, o *CopyOptions) (*ThreadInfo, error) {
	if o == nil {
		o = &CopyOptions{}
	}
	c, err := l.copying(ctx, from, to, o)
	if err != nil {
		return nil, err
	}
	claim, err := l.Claim(ctx, to, firstOf(o.Run, "copy"))
	if err != nil {
		return nil, err
	}
	c.claim = claim
	if claim.Found() != nil {
		err = &Error{Code: CodeExists, Message: "thread " + to + " exists", Hint: "choose another name, or release it first"}
	} else if err = c.all(); err != nil && c.begun {
		defer func() { // after the claim is given back
			if _, e := l.deleteThread(context.WithoutCancel(ctx), to, &DeleteOptions{By: "posthouse", Reason: "its copying failed"}, nil); e != nil && !errors.Is(e, ErrNotFound) {
				l.opt.Logger.Error("what a failed copy left is still there", "thread", to, "error", e)
			}
		}()
	}
	if e := l.Unclaim(context.WithoutCancel(ctx), claim); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	info, err := l.Thread(ctx, to)
	if err != nil {
		return nil, err
	}
	l.observe(Operation{Kind: OpCopied, At: l.Now(), Thread: to, Coordination: info.coordination(), Source: &Source{Thread: from}, Count: len(c.ids)})
	l.retained.added(len(c.ids) - 1)
	l.evict(ctx)
	return info, nil
}

// A copying is a thread on its way into another.
type copying struct {
	l           *Core
	ctx         context.Context
	from, to    string
	claim       *Claim
	r           *logReader
	tree        *threadTree
	heads       map[string]uint64 // where the source's branches end, by entry
	first, last uint64

	decisions map[ID]*Decision      // of the source's gates
	ids       map[ID]ID             // checkpoints, from the source's to the copy's
	open      map[string][]openGate // by branch
	asked     []ID                  // originals of the gates in the draft
	programs  map[uint64]State      // of copied checkpoints, by the source's entry
	begun     bool

	pending []*Plan       // not on record yet
	size    int           // bytes of their states and results
	ends    map[string]ID // the copy's branches with those, by name
}

// An openGate is a gate of the copy that waits, and its original.
type openGate struct{ was, now ID }

func (l *Core) copying(ctx context.Context, from, to string, o *CopyOptions) (*copying, error) {
	if from == to {
		return nil, &Error{Code: CodeExists, Message: "thread " + to + " exists: it is the one to be copied", Hint: "name another thread"}
	}
	if err := ValidateName("thread", to); err != nil {
		return nil, err
	}
	info, err := l.summary(ctx, from)
	if err != nil {
		return nil, err
	}
	c := &copying{
		l: l, ctx: ctx, from: from, to: to, r: l.reader(ctx, from), first: info.First, last: info.Tail.Seq, heads: map[string]uint64{},
		decisions: map[ID]*Decision{}, ids: map[ID]ID{}, open: map[string][]openGate{}, programs: map[uint64]State{}, ends: map[string]ID{},
	}
	branches := info.Branches
	if o.Version != 0 && o.Version != info.Generation {
		rel, err := l.ReleaseOf(ctx, from, strconv.FormatUint(uint64(o.Version), 10))
		if err != nil {
			return nil, err
		}
		c.first, c.last, branches = rel.First, rel.Seq, rel.Heads
	}
	if c.tree, err = l.tree(ctx, from, c.first); err != nil {
		return nil, err
	}
	for _, b := range branches {
		c.heads[b.Branch] = b.Seq
	}
	if !slices.ContainsFunc(c.tree.seqs, func(seq uint64) bool { return seq <= c.last && !c.tree.nodes[seq].removed }) {
		return nil, notFound("thread", from)
	}
	return c, c.decided()
}

// decided collects the source's decisions.
func (c *copying) decided() error {
	return c.each(func(e *Entry, recs []Record) error {
		for i := range recs {
			if recs[i].Decision == nil || len(e.Bodies[i]) == 0 {
				continue
			}
			d, err := readDecisionBody(e, &recs[i], e.Bodies[i])
			if err != nil {
				return err
			}
			d.Seq = e.Seq
			c.decisions[d.Gate] = d
		}
		return nil
	})
}

// each calls do with the source's entries, in their order.
func (c *copying) each(do func(*Entry, []Record) error) error {
	for e, err := range c.l.inOrder(c.ctx, c.from, Range{From: c.first, To: c.last}) {
		if err != nil {
			return err
		}
		recs, err := c.l.opened(c.ctx, e)
		if err != nil {
			return err
		}
		if err := do(e, recs); err != nil {
			return err
		}
	}
	return nil
}

// all copies entry by entry, and puts them on record many at once.
func (c *copying) all() error {
	lost := absent{}
	if err := c.each(func(e *Entry, recs []Record) error {
		d, err := c.draft(e, recs, lost)
		if d == nil || err != nil {
			return err
		}
		if ch := d.Checkpoint; ch != nil {
			if c.ends[d.Branch] != ch.Parent {
				if err := c.flush(); err != nil { // the parent of a new branch is looked up in the store
					return err
				}
			}
			c.ends[d.Branch] = ch.ID
			c.ids[ch.Source.ID] = ch.ID
			for i := range d.Gates {
				c.open[d.Branch] = append(c.open[d.Branch], openGate{c.asked[i], d.Gates[i].ID})
			}
		}
		c.pending, c.size = append(c.pending, d), c.size+d.size()
		if _, ok := c.l.store.(BulkAppender); ok && len(c.pending) < MaxBulk && c.size < MaxBulkBytes {
			return nil
		}
		return c.flush()
	}); err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	return c.r.account(lost)
}

// flush puts what is pending on record.
func (c *copying) flush() error {
	if len(c.pending) == 0 {
		return nil
	}
	err := c.l.commitAll(c.ctx, c.pending)
	c.begun = c.begun || err == nil || errors.Is(err, ErrUnknown)
	c.pending, c.size = nil, 0
	return err
}

// size returns the bytes of what the draft's checkpoint and steps hold.
func (d *Plan) size() (n int) {
	for i := range d.Steps {
		n += len(d.Steps[i].Value.Data)
	}
	if d.Checkpoint != nil {
		for _, v := range d.Checkpoint.State {
			n += len(v.Data)
		}
		for i := range d.Checkpoint.Program {
			n += len(d.Checkpoint.Program[i].Data)
		}
	}
	return n
}

// draft returns what an entry of the source is in the copy, nil for nothing.
func (c *copying) draft(e *Entry, recs []Record, lost absent) (*Plan, error) {
	d := &Plan{Thread: c.to, Claim: c.claim, Copy: true}
	for i := range recs {
		rec := &recs[i]
		switch {
		case rec.Step != nil && !c.overtaken(rec.Step.Branch, e.Seq) && !lost.note(e, i, rec):
			d.Branch = rec.Step.Branch
			d.Steps = append(d.Steps, stepRecord(e, rec, e.Bodies[i]).Step)
		case rec.Checkpoint != nil:
			seq, kept := c.tree.byID[rec.Checkpoint.ID]
			if !kept || seq > c.last || c.tree.firstRevision(seq) != e.Seq {
				continue // removed, or a later revision, which is copied in the place of the first
			}
			if err := c.checkpoint(d, seq); err != nil {
				return nil, err
			}
		}
	}
	if d.Checkpoint == nil {
		if err := c.decidedAtOnce(d, e, recs, lost); err != nil || len(d.Steps)+len(d.Inherit) == 0 {
			return nil, err
		}
		return d, nil
	}
	return d, c.gates(d, c.tree.byID[d.Checkpoint.Source.ID], lost)
}

// decidedAtOnce puts the questions into the draft that a policy of the program
// decided as they were asked, in an entry without a checkpoint.
func (c *copying) decidedAtOnce(d *Plan, e *Entry, recs []Record, lost absent) error {
	for i := range recs {
		rec := &recs[i]
		if rec.Gate == nil || c.overtaken(rec.Gate.Branch, e.Seq) || lost.note(e, i, rec) {
			continue
		}
		dec := c.decisions[rec.Gate.ID]
		if dec == nil || dec.Seq != e.Seq {
			continue
		}
		g, err := readGateBody(e, rec, e.Bodies[i])
		if err != nil {
			return err
		}
		g.Decision, d.Branch = dec, rec.Gate.Branch
		d.Inherit = append(d.Inherit, g)
	}
	return nil
}

// overtaken reports whether a result belongs to an execution that went on after
// an answer to the question that its branch ends at: the copy asks that again.
func (c *copying) overtaken(branch string, seq uint64) bool {
	head := c.heads[branch]
	return head != 0 && seq > head && c.tree.nodes[head] != nil && c.tree.nodes[head].header.Status == StatusWaiting
}

// checkpoint puts a checkpoint of the source into the draft.
func (c *copying) checkpoint(d *Plan, seq uint64) error {
	b, err := c.r.rebuild(seq)
	if err != nil {
		return err
	}
	src, err := b.checkpoint()
	if err != nil {
		return err
	}
	h := &src.Header
	ch := &Change{
		ID: c.l.NewID(), Kind: h.Kind, Status: h.Status, Coordination: h.Coordination, Run: h.Run, Graph: h.Graph, Fingerprint: h.Fingerprint,
		Node: h.Node, Agent: h.Agent, By: h.By, Error: h.Error, Next: h.Next, Labels: h.Labels, Source: &Source{c.from, h.ID},
		CreatedAt: h.CreatedAt, State: src.State, Metadata: src.Metadata,
	}
	d.Kept = src.State
	if ch.Status.Runnable() {
		ch.Status = StatusInterrupted
	}
	if ch.Coordination == c.from {
		ch.Coordination = c.to
	}
	if ch.Metadata == nil {
		ch.Metadata = map[string]string{}
	}
	parent := c.parent(h.ParentSeq)
	if ch.Root = parent == 0; !ch.Root {
		ch.Parent = c.ids[c.tree.nodes[parent].header.ID]
	}
	delete(src.Program, signalsPart) // they are entries of the source
	for name := range c.programs[parent] {
		if _, ok := src.Program[name]; !ok {
			ch.Program = append(ch.Program, Part{Name: name, Drop: true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(src.Program)) {
		v := src.Program[name]
		ch.Program = append(ch.Program, Part{Name: name, Codec: v.Codec, Data: v.Data})
	}
	c.programs[seq] = src.Program
	d.Branch, d.Checkpoint, d.Step = h.Branch, ch, h.Step
	return nil
}

// parent returns the nearest kept ancestor, 0 if there is none.
func (c *copying) parent(seq uint64) uint64 {
	for n := c.tree.nodes[seq]; n != nil; n = c.tree.nodes[seq] {
		if !n.removed {
			return seq
		}
		seq = n.header.ParentSeq
	}
	return 0
}

// gates puts the questions that a checkpoint opened into the draft, and says
// what becomes of those of its branch that are open: they keep waiting, or were
// answered before it.
func (c *copying) gates(d *Plan, seq uint64, lost absent) error {
	d.Answers, c.asked = map[ID]*Decision{}, nil
	var still []openGate
	for _, g := range c.open[d.Branch] {
		if dec := c.decisions[g.was]; dec != nil && dec.Seq <= seq {
			d.Answers[g.now] = dec
		} else {
			d.Keep, still = append(d.Keep, g.now), append(still, g)
		}
	}
	c.open[d.Branch] = still
	e, err := c.r.entry(seq, true)
	if err != nil {
		return err
	}
	for i := range e.recs {
		rec := &e.recs[i]
		if rec.Gate == nil || lost.note(&e.Entry, i, rec) {
			continue
		}
		g, err := readGateBody(&e.Entry, rec, e.Bodies[i])
		if err != nil {
			return err
		}
		if dec := c.decisions[g.ID]; dec != nil && dec.Seq == seq {
			g.Decision = dec
			d.Inherit = append(d.Inherit, g)
			continue
		}
		c.asked = append(c.asked, g.ID)
		g.ID = gatePrefix + c.l.NewID()
		d.Gates = append(d.Gates, *g)
		d.Checkpoint.Status = StatusWaiting // also if another gate of it had its answer at once
	}
	return nil
}

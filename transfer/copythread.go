package transfer

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/removal"
	"github.com/posthouse/posthouse/internal/story"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
)

// CopyOptions refine [CopyThread]. Nil is the zero value.
type CopyOptions struct {
	Version uint32 // the released version to copy; 0: the current generation

	// By is who makes the copy. It is on record as the sender of the signal [SignalCopied],
	// with which the new thread then begins. "" is for a copy without such a record.
	By string
}

// CopyThread makes a new thread with the whole visible history of another. Each kept
// checkpoint gets a new id and keeps its branch, parent, step count and time; its Source
// names the original. Gates get new ids too. A gate that the history answered has the same
// answer, which is for reading and licenses no effect: its Origin names the original. A gate
// at the end of a branch is open again, whatever was decided since. Recorded results are
// copied, so nothing runs twice. Signals and votes are not. As after a fork, a checkpoint
// that could run is interrupted, and runs when it is resumed.
//
// Hashes of the source are checked, as in any read. Signatures are not, and the copy is
// signed with this Ledger's key, so verify a source that is not trusted first.
//
// The source may be in use: CopyThread copies it as it was at the start. If it fails in
// the middle, it deletes the new thread. It fails with [posthouse.ErrNotFound] if there is
// no source and with [posthouse.ErrExists] if the new thread exists.
func CopyThread(ctx context.Context, led *ledger.Ledger, from, to string, o *CopyOptions) (*posthouse.ThreadInfo, error) {
	l := led.Core()
	if o == nil {
		o = &CopyOptions{}
	}
	c, err := newThreadCopier(ctx, l, from, to, o)
	if err != nil {
		return nil, err
	}
	claim, err := l.Claim(ctx, to, "copy")
	if err != nil {
		return nil, err
	}
	c.claim = claim
	if claim.Found() != nil {
		err = &posthouse.Error{Code: posthouse.CodeExists, Message: "thread " + to + " exists", Hint: "choose another name, or release it first"}
	} else {
		err = c.note(o)
		if err == nil {
			err = c.all()
		}
		if err != nil && c.begun {
			defer func() { // after the claim is released
				if _, e := removal.Thread(context.WithoutCancel(ctx), l, to, removal.Options{By: "posthouse", Reason: "its copying failed"}); e != nil && !errors.Is(e, posthouse.ErrNotFound) {
					l.Config.Logger.Error("what a failed copy left is still there", "thread", to, "error", e)
				}
			}()
		}
	}
	if e := claim.Release(context.WithoutCancel(ctx)); err == nil {
		err = e
	}
	if err != nil {
		return nil, err
	}
	info, err := l.Logs.Thread(ctx, to)
	if err != nil {
		return nil, err
	}
	l.Observe.Operation(posthouse.Operation{Kind: posthouse.OpCopied, At: l.Now(), Thread: to, Coordination: info.CoordinationName(), Source: &posthouse.Source{Thread: from}, Count: len(c.ids)})
	l.Cap.Added(len(c.ids) - 1)
	l.EnforceCap(ctx)
	return info, nil
}

type threadCopier struct {
	l           *commit.Committer
	ctx         context.Context
	from, to    string
	claim       *core.Claim
	r           *threadlog.Reader
	tree        *threadlog.Tree
	heads       map[string]uint64 // the entries where the source's branches end
	first, last uint64

	decisions map[posthouse.ID]*posthouse.Decision // of the source's gates
	ids       map[posthouse.ID]posthouse.ID        // the copy's checkpoints by the source's
	open      map[string][]openGate                // by branch
	asked     []posthouse.ID                       // originals of the gates in the plan
	left      map[string][]*posthouse.Gate         // approvals without a checkpoint, by branch
	programs  map[uint64]posthouse.State           // of copied checkpoints, by the source's entry
	begun     bool                                 // something may be on record

	pending []*commit.Plan          // not on record yet
	size    int                     // bytes of their states and results
	ends    map[string]posthouse.ID // the copy's branch heads including pending, by name
}

// An openGate is a gate of the copy that waits, and its original.
type openGate struct{ was, now posthouse.ID }

func newThreadCopier(ctx context.Context, l *commit.Committer, from, to string, o *CopyOptions) (*threadCopier, error) {
	if from == to {
		return nil, &posthouse.Error{Code: posthouse.CodeExists, Message: "thread " + to + " exists: it is the one to be copied", Hint: "name another thread"}
	}
	if err := posthouse.CheckThread("thread", to); err != nil {
		return nil, err
	}
	if err := posthouse.CheckPerson("by", o.By); err != nil {
		return nil, err
	}
	info, err := l.Logs.Summary(ctx, from)
	if err != nil {
		return nil, err
	}
	c := &threadCopier{
		l: l, ctx: ctx, from: from, to: to, r: l.Logs.Reader(ctx, from), first: info.First, last: info.Tail.Seq, heads: map[string]uint64{},
		decisions: map[posthouse.ID]*posthouse.Decision{}, ids: map[posthouse.ID]posthouse.ID{}, open: map[string][]openGate{}, left: map[string][]*posthouse.Gate{}, programs: map[uint64]posthouse.State{}, ends: map[string]posthouse.ID{},
	}
	branches := info.Branches
	if o.Version != 0 && o.Version != info.Generation {
		rel, err := l.Logs.ReleaseOf(ctx, from, strconv.FormatUint(uint64(o.Version), 10))
		if err != nil {
			return nil, err
		}
		c.first, c.last, branches = rel.First, rel.Seq, rel.Heads
	}
	c.tree, err = l.Logs.Tree(ctx, from, c.first)
	if err != nil {
		return nil, err
	}
	for _, b := range branches {
		c.heads[b.Branch] = b.Seq
	}
	if !slices.ContainsFunc(c.tree.Seqs, func(seq uint64) bool { return seq <= c.last && !c.tree.Nodes[seq].Removed }) {
		return nil, posthouse.NotFound("thread", from)
	}
	return c, c.decided()
}

func (c *threadCopier) decided() error {
	return c.each(func(e *posthouse.Entry, recs []posthouse.Record) error {
		for i := range recs {
			if recs[i].Decision == nil || len(e.Bodies[i]) == 0 {
				continue
			}
			d, err := threadlog.ReadDecisionBody(e, &recs[i], e.Bodies[i])
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
func (c *threadCopier) each(do func(*posthouse.Entry, []posthouse.Record) error) error {
	for e, err := range c.l.Logs.InOrder(c.ctx, c.from, posthouse.Range{From: c.first, To: c.last}) {
		if err != nil {
			return err
		}
		recs, err := c.l.Vault.OpenEntry(c.ctx, e)
		if err != nil {
			return err
		}
		if err := do(e, recs); err != nil {
			return err
		}
	}
	return nil
}

// all copies entry by entry, and commits many at once.
func (c *threadCopier) all() error {
	lost := threadlog.MissingBodies{}
	if err := c.each(func(e *posthouse.Entry, recs []posthouse.Record) error {
		if before := c.leftBefore(e, recs); before != nil {
			c.pending = append(c.pending, before)
			if err := c.flush(); err != nil { // a bulk has room for one plan an entry
				return err
			}
		}
		p, err := c.draft(e, recs, lost)
		if p == nil || err != nil {
			return err
		}
		if ch := p.Checkpoint; ch != nil {
			if c.ends[p.Branch] != ch.Parent {
				if err := c.flush(); err != nil { // the parent of a new branch is read from the store
					return err
				}
			}
			c.ends[p.Branch] = ch.ID
			c.ids[ch.Source.ID] = ch.ID
			for i := range p.Gates {
				c.open[p.Branch] = append(c.open[p.Branch], openGate{c.asked[i], p.Gates[i].ID})
			}
		}
		c.pending, c.size = append(c.pending, p), c.size+size(p)
		if _, ok := c.l.Store.(posthouse.BulkAppender); ok && len(c.pending) < posthouse.MaxBulk && c.size < posthouse.MaxBulkBytes {
			return nil
		}
		return c.flush()
	}); err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	return c.r.Account(lost)
}

// mayBe reports whether an append with this error may be on record.
func mayBe(err error) bool {
	return err == nil || errors.Is(err, posthouse.ErrUnknown) || errors.Is(err, posthouse.ErrUnavailable)
}

func (c *threadCopier) flush() error {
	if len(c.pending) == 0 {
		return nil
	}
	err := commit.RunAll(c.ctx, c.l, c.pending)
	c.begun = c.begun || mayBe(err)
	c.pending, c.size = nil, 0
	return err
}

// size returns the bytes of the states and results in a plan.
func size(p *commit.Plan) (n int) {
	for i := range p.Steps {
		n += len(p.Steps[i].Value.Data)
	}
	if p.Checkpoint != nil {
		for _, v := range p.Checkpoint.State {
			n += len(v.Data)
		}
		for i := range p.Checkpoint.Program {
			n += len(p.Checkpoint.Program[i].Data)
		}
	}
	return n
}

// draft returns the plan for an entry of the source, nil if nothing is copied.
func (c *threadCopier) draft(e *posthouse.Entry, recs []posthouse.Record, lost threadlog.MissingBodies) (*commit.Plan, error) {
	p := &commit.Plan{Thread: c.to, Claim: c.claim, Copy: true}
	for i := range recs {
		rec := &recs[i]
		switch {
		case rec.Step != nil && !c.overtaken(rec.Step.Branch, e.Seq) && !lost.Note(e, i, rec):
			p.Branch = rec.Step.Branch
			s, err := threadlog.ReadStep(e, recs, i)
			if err != nil {
				return nil, err
			}
			p.Steps = append(p.Steps, s.Step)
		case rec.Checkpoint != nil:
			seq, kept := c.tree.ByID[rec.Checkpoint.ID]
			if !kept {
				if err := c.leave(e, recs); err != nil {
					return nil, err
				}
			}
			if !kept || seq > c.last || c.tree.FirstRevision(seq) != e.Seq {
				continue // removed, or a later revision, which is copied in place of the first
			}
			if err := c.checkpoint(p, seq); err != nil {
				return nil, err
			}
			if n := threadlog.NoteOn(recs, i); n > 0 && len(e.Bodies[n]) > 0 {
				if err := story.Read(e, e.Bodies[n], &p.Checkpoint.Story); err != nil {
					return nil, err
				}
			}
		}
	}
	if p.Checkpoint == nil {
		if err := c.decidedAtOnce(p, e, recs, lost); err != nil || len(p.Steps)+len(p.Inherit) == 0 {
			return nil, err
		}
		return p, nil
	}
	return p, c.gates(p, c.tree.ByID[p.Checkpoint.Source.ID], lost)
}

// decidedAtOnce copies gates that the program's policy decided when they were opened, in an
// entry without a checkpoint.
func (c *threadCopier) decidedAtOnce(p *commit.Plan, e *posthouse.Entry, recs []posthouse.Record, lost threadlog.MissingBodies) error {
	for i := range recs {
		rec := &recs[i]
		if rec.Gate == nil || c.overtaken(rec.Gate.Branch, e.Seq) || lost.Note(e, i, rec) {
			continue
		}
		dec := c.decisions[rec.Gate.ID]
		if dec == nil || dec.Seq != e.Seq {
			continue
		}
		g, err := posthouse.ReadGateBody(e, rec, e.Bodies[i])
		if err != nil {
			return err
		}
		g.Decision, p.Branch = dec, rec.Gate.Branch
		p.Inherit = append(p.Inherit, g)
	}
	return nil
}

// leave notes decided gates of a removed checkpoint. They stayed because the execution finds them
// when it runs again: answers, signals, timers and tasks that are over. They go to the next
// checkpoint of their branch, or before its next steps.
func (c *threadCopier) leave(e *posthouse.Entry, recs []posthouse.Record) error {
	for i := range recs {
		rec := &recs[i]
		if rec.Gate == nil || len(e.Bodies[i]) == 0 {
			continue
		}
		dec := c.decisions[rec.Gate.ID]
		if dec == nil || dec.Seq <= e.Seq || dec.Seq > c.heads[rec.Gate.Branch] {
			continue
		}
		g, err := posthouse.ReadGateBody(e, rec, e.Bodies[i])
		if err != nil {
			return err
		}
		g.Decision = dec
		c.left[rec.Gate.Branch] = append(c.left[rec.Gate.Branch], g)
	}
	return nil
}

// leftBefore returns the plan for noted gates that come before the steps of an entry, nil if
// there are no such gates: a program that runs again makes its calls in this order.
func (c *threadCopier) leftBefore(e *posthouse.Entry, recs []posthouse.Record) *commit.Plan {
	for i := range recs {
		s := recs[i].Step
		if s == nil || c.overtaken(s.Branch, e.Seq) || len(c.left[s.Branch]) == 0 {
			continue
		}
		p := &commit.Plan{Thread: c.to, Claim: c.claim, Copy: true, Branch: s.Branch, Inherit: c.left[s.Branch]}
		delete(c.left, s.Branch)
		return p
	}
	return nil
}

// overtaken reports whether an entry comes after the waiting head of its branch. It belongs
// to an execution after the answer, and the copy asks the question again.
func (c *threadCopier) overtaken(branch string, seq uint64) bool {
	head := c.heads[branch]
	return head != 0 && seq > head && c.tree.Nodes[head] != nil && c.tree.Nodes[head].Header.Status == posthouse.StatusWaiting
}

func (c *threadCopier) checkpoint(p *commit.Plan, seq uint64) error {
	b, err := c.r.Rebuild(seq)
	if err != nil {
		return err
	}
	src, err := b.Checkpoint()
	if err != nil {
		return err
	}
	h := &src.Header
	ch := &posthouse.Change{
		ID: c.l.NewID(), Kind: h.Kind, Status: h.Status, Coordination: h.Coordination, Run: h.Run, Graph: h.Graph, Fingerprint: h.Fingerprint,
		Node: h.Node, Agent: h.Agent, By: h.By, Error: h.Error, Next: h.Next, Labels: h.Labels, Source: &posthouse.Source{Thread: c.from, ID: h.ID},
		CreatedAt: h.CreatedAt, State: src.State, Metadata: src.Metadata, Story: posthouse.Story{Took: h.Took, Attempts: h.Attempts},
	}
	p.Recorded = src.State
	if ch.Status.Runnable() {
		ch.Status = posthouse.StatusInterrupted
	}
	if ch.Coordination == c.from {
		ch.Coordination = c.to
	}
	if ch.Metadata == nil {
		ch.Metadata = map[string]string{}
	}
	parent := c.parent(h.ParentSeq)
	ch.Root = parent == 0
	if !ch.Root {
		ch.Parent = c.ids[c.tree.Nodes[parent].Header.ID]
	}
	delete(src.Program, posthouse.SignalsPart) // signals are entries of the source
	for name := range c.programs[parent] {
		if _, ok := src.Program[name]; !ok {
			ch.Program = append(ch.Program, posthouse.Part{Name: name, Drop: true})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(src.Program)) {
		v := src.Program[name]
		ch.Program = append(ch.Program, posthouse.Part{Name: name, Codec: v.Codec, Data: v.Data})
	}
	c.programs[seq] = src.Program
	p.Branch, p.Checkpoint, p.Step = h.Branch, ch, h.Step
	return nil
}

// parent returns the nearest kept ancestor's entry, 0 if there is no such ancestor.
func (c *threadCopier) parent(seq uint64) uint64 {
	for n := c.tree.Nodes[seq]; n != nil; n = c.tree.Nodes[seq] {
		if !n.Removed {
			return seq
		}
		seq = n.Header.ParentSeq
	}
	return 0
}

// gates adds the gates that a checkpoint opened to the plan. For each open gate of its
// branch it says whether the gate was answered before the checkpoint or keeps waiting.
func (c *threadCopier) gates(p *commit.Plan, seq uint64, lost threadlog.MissingBodies) error {
	p.Open.Answers, c.asked = map[posthouse.ID]*posthouse.Decision{}, nil
	p.Inherit = append(p.Inherit, c.left[p.Branch]...)
	delete(c.left, p.Branch)
	var still []openGate
	for _, g := range c.open[p.Branch] {
		if dec := c.decisions[g.was]; dec != nil && dec.Seq <= seq {
			p.Open.Answers[g.now] = dec
		} else {
			p.Open.Keep, still = append(p.Open.Keep, g.now), append(still, g)
		}
	}
	c.open[p.Branch] = still
	e, err := c.r.Entry(seq, true)
	if err != nil {
		return err
	}
	for i := range e.Recs {
		rec := &e.Recs[i]
		if rec.Gate == nil || lost.Note(&e.Entry, i, rec) {
			continue
		}
		g, err := posthouse.ReadGateBody(&e.Entry, rec, e.Bodies[i])
		if err != nil {
			return err
		}
		if dec := c.decisions[g.ID]; dec != nil && dec.Seq == seq {
			g.Decision = dec
			p.Inherit = append(p.Inherit, g)
			continue
		}
		c.asked = append(c.asked, g.ID)
		if dec := c.decisions[g.ID]; dec != nil && dec.Seq <= c.heads[p.Branch] { // the copy has the answer, too
			g.Origin = cmp.Or(g.Origin, g.ID)
		}
		g.ID = posthouse.GatePrefix + c.l.NewID()
		p.Gates = append(p.Gates, *g)
		p.Checkpoint.Status = posthouse.StatusWaiting // also if another gate of it had its answer at once
	}
	return nil
}

package threadlog

import (
	"context"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// A Tree is a thread's checkpoints as its log has them: their parents, the bodies that
// each needs, and what was removed.
type Tree struct {
	Thread   string
	Nodes    map[uint64]*Node
	Seqs     []uint64                   // ascending
	Children map[uint64][]uint64        // kept children by their parent's entry
	ByID     map[posthouse.ID]uint64    // newest revision of each kept checkpoint
	First    uint64                     // the first entry that is there
	Gone     uint32                     // the newest generation that was removed whole
	Floor    uint64                     // the record that removed the whole thread before the current log, if any
	releases map[uint32]Span            // each released generation's entries; the release is the last
	Dropped  []Span                     // released generations that a removal record lists
	Removal  uint64                     // the newest removal record
	Listed   map[posthouse.BodyRef]bool // bodies that a removal record lists

	Revisions map[posthouse.ID][]uint64 // all that an id ever named

	recorded  map[string][]posthouse.BodyRef // results and questions by branch, in their order
	keep      map[posthouse.BodyRef]bool     // gates that stay, see [Logs.KeepApprovals]
	approved  []*Approved                    // gates that stay for as long as a checkpoint may act under them again
	elsewhere func(posthouse.ID) bool
}

// A Span is a released generation's part of the log, both ends included.
type Span struct {
	Version     uint32
	First, Last uint64
	Held        bool // there are entries of it before the last
}

// A Node is a checkpoint in a [Tree].
type Node struct {
	Header  posthouse.Header
	Removed bool
	list    posthouse.PartList
	parts   map[string]uint64 // each part's newest change
	gates   []posthouse.BodyRef
	steps   []posthouse.BodyRef // results recorded on its branch since its parent
	record  int
}

func newTree(thread string, first uint64) *Tree {
	return &Tree{
		Thread: thread, Nodes: map[uint64]*Node{}, Children: map[uint64][]uint64{}, ByID: map[posthouse.ID]uint64{}, First: first,
		Listed: map[posthouse.BodyRef]bool{}, Revisions: map[posthouse.ID][]uint64{}, releases: map[uint32]Span{}, recorded: map[string][]posthouse.BodyRef{},
	}
}

// Tree reads a thread from the first entry of a generation, or from 0.
func (l *Logs) Tree(ctx context.Context, thread string, from uint64) (*Tree, error) {
	t := newTree(thread, 0)
	steps := map[string][]posthouse.BodyRef{} // by branch, since its last checkpoint
	var removals []uint64
	last := uint64(0)
	for e, err := range l.InOrder(ctx, thread, posthouse.Range{From: from, Headers: true}) {
		if err != nil {
			return nil, err
		}
		e.Bodies = nil
		recs, err := e.CheckRecords()
		if err != nil {
			return nil, err
		}
		if t.First == 0 {
			t.First = e.Seq
		}
		var node *Node
		var gates []posthouse.BodyRef
		for i := range recs {
			switch rec := &recs[i]; {
			case rec.Checkpoint != nil:
				node = &Node{Header: *rec.Checkpoint, list: rec.Parts, record: i}
				if node.Header.Revision == 0 { // a revision ends no execution
					node.steps = steps[node.Header.Branch]
					delete(steps, node.Header.Branch)
				}
			case rec.Gate != nil:
				gates = append(gates, posthouse.BodyRef{Seq: e.Seq, Record: i})
				t.record(rec.Gate.Branch, gates[len(gates)-1])
			case rec.Step != nil:
				at := posthouse.BodyRef{Seq: e.Seq, Record: i}
				steps[rec.Step.Branch] = append(steps[rec.Step.Branch], at)
				t.record(rec.Step.Branch, at)
			case rec.Note != nil:
				at := posthouse.BodyRef{Seq: e.Seq, Record: i}
				if recs[i-1].Checkpoint != nil {
					node.steps = append(node.steps, at)
				} else {
					steps[rec.Note.Branch] = append(steps[rec.Note.Branch], at)
				}
				t.record(rec.Note.Branch, at)
			case rec.Removal != nil && rec.Removal.Whole: // what is left before it is on its way out
				t = newTree(thread, t.First)
				t.Floor, t.Gone, removals = e.Seq, e.Generation, nil
				clear(steps)
			case rec.Removal != nil:
				removals = append(removals, e.Seq)
				t.drop(rec.Removal.Version)
			case rec.Release != nil:
				t.releases[rec.Release.Version] = Span{rec.Release.Version, rec.Release.First, e.Seq, last >= rec.Release.First}
				clear(steps)
			}
		}
		last = e.Seq
		if node != nil {
			node.gates = gates
			t.add(e.Seq, node)
		} else if len(gates) > 0 { // decided without a checkpoint: they belong to the next one
			branch := recs[gates[0].Record].Gate.Branch
			steps[branch] = append(steps[branch], gates...)
		}
	}
	r := l.Reader(ctx, thread)
	for _, seq := range removals {
		t.Removal = seq
		list, err := r.RemovedList(seq)
		if err != nil {
			return nil, err
		}
		for _, c := range list.Checkpoints {
			t.Remove(c.Seq)
		}
		for _, b := range list.Bodies {
			t.Listed[b] = true
		}
	}
	return t, nil
}

func (t *Tree) record(branch string, at posthouse.BodyRef) {
	t.recorded[branch] = append(t.recorded[branch], at)
}

// drop removes what a version holds; version 0 does not exist.
func (t *Tree) drop(version uint32) {
	s, ok := t.releases[version]
	if !ok {
		return
	}
	t.Dropped = append(t.Dropped, s)
	for _, seq := range t.Seqs {
		if seq >= s.First && seq <= s.Last {
			t.Remove(seq)
		}
	}
}

func (t *Tree) add(seq uint64, n *Node) {
	h := &n.Header
	n.parts = map[string]uint64{}
	if p := t.Nodes[h.ParentSeq]; p != nil {
		maps.Copy(n.parts, p.parts)
	}
	for _, u := range n.list.Unchanged {
		n.parts[u.Name] = seq - u.Last
	}
	for _, c := range n.list.Changes {
		if c.Op == posthouse.PartDrop {
			delete(n.parts, c.Name)
		} else {
			n.parts[c.Name] = seq
		}
	}
	if old, ok := t.ByID[h.ID]; ok {
		t.Remove(old) // an earlier revision
	}
	t.Nodes[seq] = n
	t.Seqs = append(t.Seqs, seq)
	t.ByID[h.ID] = seq
	t.Revisions[h.ID] = append(t.Revisions[h.ID], seq)
	if h.ParentSeq != 0 {
		t.Children[h.ParentSeq] = append(t.Children[h.ParentSeq], seq)
	}
}

// Remove takes a checkpoint out of the tree, as a removal record does.
func (t *Tree) Remove(seq uint64) {
	n := t.Nodes[seq]
	if n == nil || n.Removed {
		return
	}
	n.Removed = true
	if t.ByID[n.Header.ID] == seq {
		delete(t.ByID, n.Header.ID)
	}
	siblings := t.Children[n.Header.ParentSeq]
	for i, s := range siblings {
		if s == seq {
			t.Children[n.Header.ParentSeq] = append(siblings[:i:i], siblings[i+1:]...)
		}
	}
}

// FirstRevision returns where the checkpoint at seq was first saved.
func (t *Tree) FirstRevision(seq uint64) uint64 {
	all := t.Revisions[t.Nodes[seq].Header.ID]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] <= seq && t.Nodes[all[i]].Header.Revision == 0 {
			return all[i]
		}
	}
	return seq
}

// Subtree returns seq and all kept checkpoints below it.
func (t *Tree) Subtree(seq uint64) []uint64 {
	out := []uint64{seq}
	for i := 0; i < len(out); i++ {
		out = append(out, t.Children[out[i]]...)
	}
	return out
}

// Needed returns the bodies from which the kept checkpoints are rebuilt, those of
// their unfinished executions, and those of gates that [Logs.KeepApprovals] found.
func (t *Tree) Needed() map[posthouse.BodyRef]bool {
	need := map[posthouse.BodyRef]bool{}
	t.executions(need)
	t.approvals(need)
	type partAt struct {
		seq  uint64
		name string
	}
	seen := map[partAt]bool{}
	for _, seq := range t.Seqs {
		if t.Nodes[seq].Removed {
			continue
		}
		for name, at := range t.Nodes[seq].parts {
			for at != 0 && !seen[partAt{at, name}] {
				seen[partAt{at, name}] = true
				n := t.Nodes[at]
				if n == nil {
					break
				}
				at = n.mark(at, name, need)
			}
		}
	}
	return need
}

// executions marks the results and questions of the unfinished executions of kept
// checkpoints, as [Reader.Lineage] finds them.
func (t *Tree) executions(need map[posthouse.BodyRef]bool) {
	seen := map[uint64]bool{}
	for _, seq := range t.Seqs {
		if t.Nodes[seq].Removed {
			continue
		}
		n := t.Nodes[seq]
		for ; n != nil && !seen[seq] && t.inStep(n); n = t.Nodes[seq] {
			seen[seq] = true
			for _, revision := range t.Revisions[n.Header.ID] {
				for _, b := range slices.Concat(t.Nodes[revision].gates, t.Nodes[revision].steps) {
					need[b] = true
				}
			}
			seq = n.Header.ParentSeq
		}
		if n != nil && !seen[seq] && n.Header.Revision > 0 {
			seen[seq] = true
			t.sinceFirstRevision(seq, need)
		}
	}
}

// sinceFirstRevision marks what was recorded on a branch between a checkpoint's first
// revision and the one at seq. A revision ends no execution, so forks of it go on with that.
func (t *Tree) sinceFirstRevision(seq uint64, need map[posthouse.BodyRef]bool) {
	first := t.FirstRevision(seq)
	for _, at := range t.recorded[t.Nodes[seq].Header.Branch] {
		if first <= at.Seq && at.Seq <= seq {
			need[at] = true
		}
	}
}

// inStep reports whether a checkpoint continues the executions of its parent.
func (t *Tree) inStep(n *Node) bool {
	if p := t.Nodes[n.Header.ParentSeq]; p != nil {
		return posthouse.GoesOn(&n.Header, &p.Header)
	}
	return posthouse.StepOf(n.Header.Kind) == 0
}

// mark marks the bodies of a part's change at seq, and returns the entry of the change
// that it splices, or 0 for a full value.
func (n *Node) mark(seq uint64, part string, need map[posthouse.BodyRef]bool) uint64 {
	for i := range n.list.Changes {
		c := &n.list.Changes[i]
		if c.Name != part {
			continue
		}
		for _, p := range c.Middle {
			if p.Back == 0 {
				need[posthouse.BodyRef{Seq: seq, Record: n.record}] = true
			} else {
				need[posthouse.BodyRef{Seq: seq - p.Back, Record: p.Rec}] = true
			}
		}
		if c.Op == posthouse.PartSplice {
			return seq - c.Last
		}
	}
	return 0
}

// Bodies returns what belongs to a checkpoint: its body, its gates', and the step
// results that led to it.
func (n *Node) Bodies(seq uint64) []posthouse.BodyRef {
	out := append([]posthouse.BodyRef{{Seq: seq, Record: n.record}}, n.gates...)
	return append(out, n.steps...)
}

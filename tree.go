package posthouse

import (
	"context"
	"maps"
	"slices"
)

// A threadTree is a thread's checkpoints as its log has them: who derives from
// whom, which bodies each needs, and which were removed.
type threadTree struct {
	thread   string
	nodes    map[uint64]*treeNode
	seqs     []uint64            // ascending
	children map[uint64][]uint64 // kept children by their parent's entry
	byID     map[ID]uint64       // newest revision of each kept checkpoint
	first    uint64              // the first entry that is there
	gone     uint32              // the newest generation that was removed whole
	floor    uint64              // the record that removed the whole thread before it, if one did
	releases map[uint32]span     // the entries of each released generation, its release last
	dropped  []span              // of releases that a removal record says may be gone
	removal  uint64              // the newest record that removed something since
	listed   map[BodyRef]bool    // bodies that a removal record says may be gone

	revisions map[ID][]uint64 // all that an id ever named
}

// A span is a released generation's stretch of log, both ends included.
type span struct {
	version     uint32
	first, last uint64
	held        bool // there are entries of it before the last
}

type treeNode struct {
	header  Header
	removed bool
	list    partList
	parts   map[string]uint64 // each part's newest change
	gates   []BodyRef
	steps   []BodyRef // results recorded on its branch since its parent
	record  int
}

// A RemovedList is the body of a removal record.
type RemovedList struct {
	Checkpoints []RemovedCheckpoint `json:"checkpoints,omitempty"`
	Bodies      []BodyRef           `json:"bodies,omitempty"` // that may be gone
}

// A RemovedCheckpoint names one that is gone.
type RemovedCheckpoint struct {
	ID  ID     `json:"id"`
	Seq uint64 `json:"seq"`
}

func newTree(thread string, first uint64) *threadTree {
	return &threadTree{
		thread: thread, nodes: map[uint64]*treeNode{}, children: map[uint64][]uint64{}, byID: map[ID]uint64{}, first: first,
		listed: map[BodyRef]bool{}, revisions: map[ID][]uint64{}, releases: map[uint32]span{},
	}
}

// tree reads a thread from an entry on: the first of a generation, or 0.
func (l *Core) tree(ctx context.Context, thread string, from uint64) (*threadTree, error) {
	t := newTree(thread, 0)
	steps := map[string][]BodyRef{} // by branch, since its last checkpoint
	var removals []uint64
	last := uint64(0)
	for e, err := range l.inOrder(ctx, thread, Range{From: from, Headers: true}) {
		if err != nil {
			return nil, err
		}
		e.Bodies = nil
		recs, err := e.check()
		if err != nil {
			return nil, err
		}
		if t.first == 0 {
			t.first = e.Seq
		}
		var node *treeNode
		var gates []BodyRef
		for i := range recs {
			switch rec := &recs[i]; {
			case rec.Checkpoint != nil:
				node = &treeNode{header: *rec.Checkpoint, list: rec.parts, record: i}
				if node.header.Revision == 0 { // a revision ends no execution
					node.steps = steps[node.header.Branch]
					delete(steps, node.header.Branch)
				}
			case rec.Gate != nil:
				gates = append(gates, BodyRef{e.Seq, i})
			case rec.Step != nil:
				steps[rec.Step.Branch] = append(steps[rec.Step.Branch], BodyRef{e.Seq, i})
			case rec.Removal != nil && rec.Removal.Whole: // what is left before it is on its way out
				t = newTree(thread, t.first)
				t.floor, t.gone, removals = e.Seq, e.Generation, nil
				clear(steps)
			case rec.Removal != nil:
				removals = append(removals, e.Seq)
				t.drop(rec.Removal.Version)
			case rec.Release != nil:
				t.releases[rec.Release.Version] = span{rec.Release.Version, rec.Release.First, e.Seq, last >= rec.Release.First}
				clear(steps)
			}
		}
		last = e.Seq
		if node != nil {
			node.gates = gates
			t.add(e.Seq, node)
		} else if len(gates) > 0 { // decided without a checkpoint: they go with the one that follows
			branch := recs[gates[0].Record].Gate.Branch
			steps[branch] = append(steps[branch], gates...)
		}
	}
	r := l.reader(ctx, thread)
	for _, seq := range removals {
		t.removal = seq
		list, err := r.removedList(seq)
		if err != nil {
			return nil, err
		}
		for _, c := range list.Checkpoints {
			t.remove(c.Seq)
		}
		for _, b := range list.Bodies {
			t.listed[b] = true
		}
	}
	return t, nil
}

// drop removes what a version holds; 0 is none.
func (t *threadTree) drop(version uint32) {
	s, ok := t.releases[version]
	if !ok {
		return
	}
	t.dropped = append(t.dropped, s)
	for _, seq := range t.seqs {
		if seq >= s.first && seq <= s.last {
			t.remove(seq)
		}
	}
}

func (t *threadTree) add(seq uint64, n *treeNode) {
	h := &n.header
	n.parts = map[string]uint64{}
	if p := t.nodes[h.ParentSeq]; p != nil {
		maps.Copy(n.parts, p.parts)
	}
	for _, u := range n.list.unchanged {
		n.parts[u.name] = seq - u.last
	}
	for _, c := range n.list.changes {
		if c.op == partDrop {
			delete(n.parts, c.name)
		} else {
			n.parts[c.name] = seq
		}
	}
	if old, ok := t.byID[h.ID]; ok {
		t.remove(old) // an earlier revision
	}
	t.nodes[seq] = n
	t.seqs = append(t.seqs, seq)
	t.byID[h.ID] = seq
	t.revisions[h.ID] = append(t.revisions[h.ID], seq)
	if h.ParentSeq != 0 {
		t.children[h.ParentSeq] = append(t.children[h.ParentSeq], seq)
	}
}

func (t *threadTree) remove(seq uint64) {
	n := t.nodes[seq]
	if n == nil || n.removed {
		return
	}
	n.removed = true
	if t.byID[n.header.ID] == seq {
		delete(t.byID, n.header.ID)
	}
	siblings := t.children[n.header.ParentSeq]
	for i, s := range siblings {
		if s == seq {
			t.children[n.header.ParentSeq] = append(siblings[:i:i], siblings[i+1:]...)
		}
	}
}

// firstRevision returns where the checkpoint at seq was first saved.
func (t *threadTree) firstRevision(seq uint64) uint64 {
	all := t.revisions[t.nodes[seq].header.ID]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] <= seq && t.nodes[all[i]].header.Revision == 0 {
			return all[i]
		}
	}
	return seq
}

// subtree returns seq and all kept checkpoints below it.
func (t *threadTree) subtree(seq uint64) []uint64 {
	out := []uint64{seq}
	for i := 0; i < len(out); i++ {
		out = append(out, t.children[out[i]]...)
	}
	return out
}

// needed returns the bodies that the kept checkpoints are rebuilt from, and
// those that their unfinished executions have on record.
func (t *threadTree) needed() map[BodyRef]bool {
	need := map[BodyRef]bool{}
	t.executions(need)
	type partAt struct {
		seq  uint64
		name string
	}
	seen := map[partAt]bool{}
	for _, seq := range t.seqs {
		if t.nodes[seq].removed {
			continue
		}
		for name, at := range t.nodes[seq].parts {
			for at != 0 && !seen[partAt{at, name}] {
				seen[partAt{at, name}] = true
				n := t.nodes[at]
				if n == nil {
					break
				}
				at = n.mark(at, name, need)
			}
		}
	}
	return need
}

// executions notes the results and questions of executions that kept
// checkpoints are in the middle of, as [logReader.lineage] finds them.
func (t *threadTree) executions(need map[BodyRef]bool) {
	seen := map[uint64]bool{}
	for _, seq := range t.seqs {
		if t.nodes[seq].removed {
			continue
		}
		for n := t.nodes[seq]; n != nil && !seen[seq] && t.inStep(n); n = t.nodes[seq] {
			seen[seq] = true
			for _, revision := range t.revisions[n.header.ID] {
				for _, b := range slices.Concat(t.nodes[revision].gates, t.nodes[revision].steps) {
					need[b] = true
				}
			}
			seq = n.header.ParentSeq
		}
	}
}

// inStep reports whether a checkpoint has executions of its parent before it.
func (t *threadTree) inStep(n *treeNode) bool {
	if p := t.nodes[n.header.ParentSeq]; p != nil {
		return goesOn(&n.header, &p.header)
	}
	return stepOf(n.header.Kind) == 0
}

// mark notes the bodies that hold a part's change at seq and returns where the
// value it splices was changed before; 0 if the value is here in full.
func (n *treeNode) mark(seq uint64, part string, need map[BodyRef]bool) uint64 {
	for i := range n.list.changes {
		c := &n.list.changes[i]
		if c.name != part {
			continue
		}
		for _, p := range c.middle {
			if p.back == 0 {
				need[BodyRef{seq, n.record}] = true
			} else {
				need[BodyRef{seq - p.back, p.rec}] = true
			}
		}
		if c.op == partSplice {
			return seq - c.last
		}
	}
	return 0
}

// bodies returns what belongs to a checkpoint: its own body, its gates', and
// the step results that led to it.
func (n *treeNode) bodies(seq uint64) []BodyRef {
	out := append([]BodyRef{{seq, n.record}}, n.gates...)
	return append(out, n.steps...)
}

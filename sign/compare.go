package sign

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

// compare checks the thread's summary against the fold of its log.
func (c *chain) compare(info *posthouse.ThreadInfo) {
	want, have := c.info, *info
	if want.Lease == (posthouse.Lease{}) && have.Lease.Owner == "" && !have.Lease.Held {
		want.Lease.Fence = have.Lease.Fence // the summary of a deleted thread keeps the fence
	}
	if !lists.Same(&want, &have) {
		c.fault(FaultSummary, info.Tail.Seq, -1, "", "the thread's summary is not what its log says: %s", difference(&want, &have))
	}
}

// difference names the first field that differs.
func difference(want, have *posthouse.ThreadInfo) string {
	switch {
	case want.Generation != have.Generation:
		return "generation"
	case want.Tail != have.Tail || want.Link != have.Link:
		return "where it ends"
	case want.Status != have.Status:
		return "status"
	case want.Graph != have.Graph || want.Coordination != have.Coordination:
		return "graph or coordination"
	case len(want.Branches) != len(have.Branches):
		return "number of branches"
	case len(want.Waiting) != len(have.Waiting):
		return "number of open gates"
	case want.Lease != have.Lease:
		return "lease"
	case want.First != have.First || want.Releases != have.Releases:
		return "releases"
	case want.Checkpoints != have.Checkpoints || want.Archived != have.Archived:
		return "number of checkpoints"
	case !have.Dated && !maps.Equal(want.Labels, have.Labels):
		return "labels"
	case want.Signed != have.Signed:
		return "newest signature"
	case want.Created != have.Created || want.Updated != have.Updated || want.Due != have.Due:
		return "times"
	}
	return "branches or open gates"
}

// index checks that lists show the checkpoints of the log. Each kept checkpoint and gate
// must also be found by its id. It does not look up a listed checkpoint if the store checks
// its own index. It ignores places after the end of the chain, which are newer than the
// walk.
func (v *verifier) index(c *chain) error {
	last := c.info.Tail.Seq
	trusts := v.ownCheck() != nil
	c.report.Checkpoints = len(c.records.checkpoints)
	listed, there := 0, map[posthouse.ID]bool{}
	for h, err := range v.store.List(v.ctx, posthouse.Query{Thread: c.thread}) {
		if isDamage(err) {
			c.fault(FaultIndex, 0, -1, "", "the thread's checkpoints cannot be listed: %s", reason(err))
			listed = c.report.Checkpoints
			break
		}
		if err != nil {
			return err
		}
		if h.Seq > last {
			continue
		}
		listed++
		switch p, ok := c.records.checkpoints[h.ID]; {
		case !ok || h.Seq != p.seq:
			c.fault(FaultIndex, h.Seq, -1, h.ID, "lists show a checkpoint that is not kept there")
		case digest(h) != p.digest:
			c.fault(FaultIndex, h.Seq, -1, h.ID, "lists show another header than the log has")
		case trusts:
			there[h.ID] = true
		}
	}
	if n := c.report.Checkpoints; listed < n {
		c.fault(FaultIndex, last, -1, "", "lists show %d of the thread's %d checkpoints", listed, n)
	}
	for _, id := range c.records.indexed(there) {
		if err := v.find(c, id, last); err != nil {
			return err
		}
	}
	return nil
}

// An indexedID is an id and the place it must lead to.
type indexedID struct {
	id  posthouse.ID
	seq uint64
}

// indexed returns what the index must have, in the log's order, without the checkpoints
// that were found.
func (s *records) indexed(there map[posthouse.ID]bool) []indexedID {
	ids := make([]indexedID, 0, len(s.checkpoints)-len(there)+len(s.gates))
	for id, p := range s.checkpoints {
		if !there[id] {
			ids = append(ids, indexedID{id, p.seq})
		}
	}
	for id, g := range s.gates {
		ids = append(ids, indexedID{id, g.newest})
	}
	slices.SortFunc(ids, func(a, b indexedID) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.id, b.id)) })
	return ids
}

func (v *verifier) find(c *chain, id indexedID, last uint64) error {
	ref, err := v.store.Find(v.ctx, id.id)
	switch {
	case errors.Is(err, posthouse.ErrNotFound) || isDamage(err):
		c.fault(FaultIndex, id.seq, -1, id.id, "it is not found by its id: %s", reason(err))
	case err != nil:
		return err
	case ref.Thread != c.thread || ref.Seq != id.seq && ref.Seq <= last:
		c.fault(FaultIndex, id.seq, -1, id.id, "its id leads to entry %d of thread %q", ref.Seq, ref.Thread)
	}
	return nil
}

// unreadable reports an entry that the store could not read, and skips it.
func (c *chain) unreadable(seq uint64, err error) {
	c.damage(FaultStore, seq, "the store cannot read it: %s", reason(err))
	if c.next == 0 {
		c.first, c.coverage.from = seq, seq
	}
	c.linked = false
	c.next = seq + 1
	c.breakRun(c.next)
}

package sign

import (
	"fmt"
	"sort"

	"github.com/posthouse/posthouse"
)

// A versionRange is the entries of a released version: from the first of its generation to
// its release, which is never removed.
type versionRange struct{ first, release uint64 }

// A hole is a version without its entries.
type hole struct {
	versionRange
	version uint32
}

// bridge reports whether entries before e are missing because the version that e releases
// was dropped. The release itself then says what it follows, and a later record must attest
// the removal.
func (c *chain) bridge(e *posthouse.Entry, recs []posthouse.Record) bool {
	if len(recs) == 0 || recs[len(recs)-1].Release == nil {
		return false
	}
	r := recs[len(recs)-1].Release
	if r.First != max(c.next, 1) || e.Seq <= r.First || c.next != 0 && c.linked && r.Base != c.prev {
		return false
	}
	c.coverage.holes += int(e.Seq - r.First)
	if c.next == 0 {
		c.coverage.holes = 0 // entries before the first one are not counted
	}
	c.linked = false // the release says what it follows, not what was before it
	at := versionRange{r.First, e.Seq}
	c.records.releases[r.Version] = at
	c.records.holes = append(c.records.holes, hole{at, r.Version})
	return true
}

// lacks reports whether an entry belongs to a dropped version.
func (c *chain) lacks(seq uint64) bool {
	hs := c.records.holes
	i := sort.Search(len(hs), func(i int) bool { return hs[i].release > seq })
	return i < len(hs) && seq >= hs[i].first
}

func (c *chain) release(e *posthouse.Entry, i int, r *posthouse.ReleaseInfo) {
	s := c.records
	c.own(e.Seq, i, "", "the release")
	clear(s.newest) // the next generation has seen no signals
	if _, gone := s.releases[r.Version]; gone {
		s.fence = r.Fence
		return
	}
	s.releases[r.Version] = versionRange{r.First, e.Seq}
	heads := map[string]uint64{}
	for _, b := range c.info.Branches {
		heads[b.Branch] = b.Seq
	}
	if id, ok := s.at[e.Seq]; ok {
		heads[s.checkpoints[id].branch] = e.Seq // the checkpoint is in the same entry
	}
	same := len(heads) == len(r.Heads)
	for _, b := range r.Heads {
		same = same && heads[b.Branch] == b.Seq && s.at[b.Seq] == b.Head
	}
	if !same {
		c.wrong(e.Seq, i, "", "it releases other heads than the thread had")
	}
	if first := max(c.info.First, 1); r.First != first || r.Fence != s.fence {
		c.wrong(e.Seq, i, "", "it releases what began with entry %d and claimed fence %d; the log has %d and %d", r.First, r.Fence, first, s.fence)
	}
}

func (c *chain) drop(e *posthouse.Entry, i int, m *posthouse.RemovalInfo) {
	s := c.records
	h, ok := s.releases[m.Version]
	if !ok {
		c.wrong(e.Seq, i, "", "it removes version %d, which was not released", m.Version)
		return
	}
	s.dropped[m.Version] = true
	n := len(s.checkpoints)
	for id, p := range s.checkpoints {
		if p.seq >= h.first && p.seq <= h.release {
			delete(s.checkpoints, id)
		}
	}
	if n -= len(s.checkpoints); !c.lacks(h.first) && n != m.Archived {
		c.wrong(e.Seq, i, "", "it removes %d checkpoints of version %d, which had %d", m.Archived, m.Version, n)
	}
	for id, g := range s.gates {
		if g.opened >= h.first && g.opened <= h.release {
			delete(s.gates, id)
		}
	}
}

// holesAttested reports missing versions without a removal on record.
func (c *chain) holesAttested() {
	for _, h := range c.records.holes {
		if !c.records.dropped[h.version] {
			c.missing(h.first, h.release-1, fmt.Sprintf(", and no removal of version %d says so", h.version))
		}
	}
}

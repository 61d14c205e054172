package threadlog

import (
	"cmp"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// Take returns what is on record of each task. The caller owns it: u must not be used any more.
func (u *Unfinished) Take() map[string]*Execution {
	for _, x := range u.tasks {
		x.Edited = u.edited
	}
	return u.tasks
}

// Copy returns what [Unfinished.Take] does. The caller may change results, gates, decisions and
// their bytes, but not what else these refer to. It allocates the same few times for any number
// of records.
func (u *Unfinished) Copy() map[string]*Execution {
	all := make(map[string]*Execution, len(u.tasks))
	for name, x := range u.tasks {
		c := x.copy()
		c.Edited = u.edited
		all[name] = c
	}
	return all
}

func (x *Execution) copy() *Execution {
	c := &Execution{Steps: slices.Clone(x.Steps), Before: maps.Clone(x.Before)}
	size, decided := 0, 0
	for i := range x.Steps {
		size += len(x.Steps[i].Value.Data)
	}
	for _, g := range x.Gates {
		size += len(g.Payload)
		if g.Decision != nil {
			size += len(g.Decision.Value)
			decided++
		}
	}
	b := make(copies, 0, size)
	for i := range c.Steps {
		v := &c.Steps[i].Value
		v.Data = b.of(v.Data)
	}
	gates, decisions := make([]posthouse.Gate, len(x.Gates)), make([]posthouse.Decision, 0, decided)
	c.Gates = make([]*posthouse.Gate, len(x.Gates))
	for i, old := range x.Gates {
		g := &gates[i]
		*g = *old
		g.Payload, g.Votes, g.Assignments, g.Notices = b.of(g.Payload), slices.Clip(g.Votes), slices.Clip(g.Assignments), slices.Clip(g.Notices)
		if d := old.Decision; d != nil {
			decisions = append(decisions, *d)
			g.Decision = &decisions[len(decisions)-1]
			g.Decision.Value = b.of(d.Value)
		}
		c.Gates[i] = g
	}
	return c
}

// copies are copies of many bytes, in one allocation.
type copies []byte

func (c *copies) of(b []byte) []byte {
	if b == nil {
		return nil
	}
	n := len(*c)
	*c = append(*c, b...)
	return (*c)[n:len(*c):len(*c)]
}

// noteBody notes that a body of an entry was read.
func (u *Unfinished) noteBody(e *posthouse.Entry, record int) {
	u.bodies = append(u.bodies, posthouse.BodyRef{Seq: e.Seq, Record: record})
	u.size += len(e.Bodies[record])
}

func (u *Unfinished) wasReadFrom(b posthouse.BodyRef) bool {
	_, found := slices.BinarySearchFunc(u.bodies, b, func(a, b posthouse.BodyRef) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Record, b.Record))
	})
	return found
}

package posthouse

import (
	"maps"
	"slices"
)

// Clone returns a deep copy that shares nothing with g.
func (g *Gate) Clone() *Gate {
	c := *g
	c.Payload, c.Schema = slices.Clone(g.Payload), slices.Clone(g.Schema)
	c.Verdicts, c.Assignees, c.Labels = slices.Clone(g.Verdicts), slices.Clone(g.Assignees), maps.Clone(g.Labels)
	if g.Quorum != nil {
		q := *g.Quorum
		c.Quorum = &q
	}
	if g.Escalation != nil {
		e := *g.Escalation
		e.To = slices.Clone(e.To)
		c.Escalation = &e
	}
	if g.Call != nil {
		call := *g.Call
		call.Continued, call.Metadata, call.Trace = slices.Clone(call.Continued), maps.Clone(call.Metadata), maps.Clone(call.Trace)
		c.Call = &call
	}
	c.Requesters = slices.Clone(g.Requesters)
	for i := range c.Requesters {
		c.Requesters[i].What = slices.Clone(c.Requesters[i].What)
	}
	c.Record.Salt = slices.Clone(g.Record.Salt)
	c.Votes = slices.Clone(g.Votes)
	for i := range c.Votes {
		c.Votes[i].Value = slices.Clone(c.Votes[i].Value)
	}
	c.Assignments = slices.Clone(g.Assignments)
	for i := range c.Assignments {
		c.Assignments[i].To = slices.Clone(c.Assignments[i].To)
	}
	if g.Decision != nil {
		c.Decision = g.Decision.Clone()
	}
	return &c
}

// Clone returns a deep copy that shares nothing with d.
func (d *Decision) Clone() *Decision {
	c := *d
	c.Value, c.Requesters = slices.Clone(d.Value), slices.Clone(d.Requesters)
	return &c
}

// Clone returns a deep copy that shares nothing with s.
func (s *Signal) Clone() *Signal {
	c := *s
	c.Value, c.Gates = slices.Clone(s.Value), slices.Clone(s.Gates)
	c.Requesters = slices.Clone(s.Requesters)
	return &c
}

// Clone returns a deep copy that shares nothing with r.
func (r *Release) Clone() *Release {
	c := *r
	c.Tags, c.Heads = slices.Clone(r.Tags), slices.Clone(r.Heads)
	return &c
}

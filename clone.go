package posthouse

import (
	"maps"
	"slices"
)

// clone returns a deep copy that shares nothing with g.
func (g *Gate) clone() *Gate {
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
	c.salt = slices.Clone(g.salt)
	c.Votes = slices.Clone(g.Votes)
	for i := range c.Votes {
		c.Votes[i].Value = slices.Clone(c.Votes[i].Value)
	}
	c.Assignments = slices.Clone(g.Assignments)
	for i := range c.Assignments {
		c.Assignments[i].To = slices.Clone(c.Assignments[i].To)
	}
	if g.Decision != nil {
		c.Decision = g.Decision.clone()
	}
	return &c
}

// clone returns a deep copy that shares nothing with d.
func (d *Decision) clone() *Decision {
	c := *d
	c.Value = slices.Clone(d.Value)
	return &c
}

// clone returns a deep copy that shares nothing with s.
func (s *Signal) clone() *Signal {
	c := *s
	c.Value, c.Gates = slices.Clone(s.Value), slices.Clone(s.Gates)
	return &c
}

// clone returns a deep copy that shares nothing with r.
func (r *Release) clone() *Release {
	c := *r
	c.Tags, c.Heads = slices.Clone(r.Tags), slices.Clone(r.Heads)
	return &c
}

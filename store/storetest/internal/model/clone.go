package model

import (
	"bytes"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// CloneEntry returns a deep copy with nil for an empty body.
func CloneEntry(e *posthouse.Entry) *posthouse.Entry {
	c := *e
	c.Header, c.Sig = bytes.Clone(e.Header), bytes.Clone(e.Sig)
	c.Bodies = nil
	for _, b := range e.Bodies {
		if len(b) == 0 {
			b = nil
		}
		c.Bodies = append(c.Bodies, bytes.Clone(b))
	}
	return &c
}

// CloneThread returns a deep copy.
func CloneThread(t *posthouse.ThreadInfo) *posthouse.ThreadInfo {
	c := *t
	c.Branches, c.Births, c.Waiting = slices.Clone(t.Branches), slices.Clone(t.Births), slices.Clone(t.Waiting)
	c.Signals, c.Taken, c.Cancelling = slices.Clone(t.Signals), slices.Clone(t.Taken), slices.Clone(t.Cancelling)
	c.Labels, c.Begun = maps.Clone(t.Labels), slices.Clone(t.Begun)
	return &c
}

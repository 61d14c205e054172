package memstore

import (
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
)

// cloneEntry copies all bytes into one piece of memory. It drops a body of no bytes,
// which the record's size attests.
func cloneEntry(e *posthouse.Entry, bodies bool) posthouse.Entry {
	c := *e
	n := len(e.Header) + len(e.Sig)
	if bodies {
		for _, b := range e.Bodies {
			n += len(b)
		}
	}
	buf := make([]byte, 0, n)
	take := func(b []byte) []byte {
		if len(b) == 0 {
			return nil
		}
		at := len(buf)
		buf = append(buf, b...)
		return buf[at:len(buf):len(buf)]
	}
	c.Header, c.Sig, c.Bodies, c.Cursor = take(e.Header), take(e.Sig), nil, ""
	if bodies {
		c.Bodies = make([][]byte, len(e.Bodies))
		for i, b := range e.Bodies {
			c.Bodies[i] = take(b)
		}
	}
	return c
}

func cloneHeader(h *posthouse.Header) posthouse.Header {
	c := *h
	c.Next, c.Gates, c.Labels = slices.Clone(h.Next), slices.Clone(h.Gates), maps.Clone(h.Labels)
	if h.Source != nil {
		s := *h.Source
		c.Source = &s
	}
	return c
}

func cloneRows(ids []posthouse.IndexedID) []*row {
	rows := make([]*row, len(ids))
	for i, id := range ids {
		if id.Header != nil {
			rows[i] = &row{cloneHeader(id.Header)}
		}
	}
	return rows
}

func cloneInfo(t *posthouse.ThreadInfo) *posthouse.ThreadInfo {
	c := *t
	c.Branches, c.Waiting = slices.Clone(t.Branches), slices.Clone(t.Waiting)
	c.Signals, c.Taken, c.Cancelling = slices.Clone(t.Signals), slices.Clone(t.Taken), slices.Clone(t.Cancelling)
	return &c
}

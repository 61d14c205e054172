package memstore

import "github.com/posthouse/posthouse"

// A copied entry has room for the list of its bodies: a step has about two.
type copied struct {
	posthouse.Entry
	bodies [3][]byte
}

// cloneEntry copies all bytes into one piece of memory. It drops a body of no bytes,
// which the record's size attests.
func cloneEntry(e *posthouse.Entry, bodies bool) *posthouse.Entry {
	c := &copied{Entry: *e}
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
		c.Bodies = c.bodies[:0]
		for _, b := range e.Bodies {
			c.Bodies = append(c.Bodies, take(b))
		}
	}
	return &c.Entry
}

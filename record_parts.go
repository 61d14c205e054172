package posthouse

import (
	"github.com/posthouse/posthouse/internal/canon"
)

// metaPart holds a checkpoint's metadata, as a part like any other: unchanged
// metadata costs nothing, and encryption covers it.
const metaPart = "$meta"

// How a part changed.
const (
	partFull   = 0 // the whole value
	partSplice = 1 // a prefix and a suffix of the previous value around a new middle
	partDrop   = 2 // the part is gone
)

// A partRef locates a part's value as of some checkpoint. Distances count
// entries back from the entry that holds the reference.
type partRef struct {
	name  string
	codec string
	size  int    // bytes of the value
	last  uint64 // distance to the entry that last changed it
	full  uint64 // distance to the entry that last held it in full
	chain int    // splices since then
	dead  int    // bytes written since then that are no longer part of the value
}

// A partChange is what a checkpoint did to one part; its partRef describes the
// value after the change, last being the distance to the change before.
type partChange struct {
	partRef
	op             byte
	prefix, suffix int     // bytes kept of the previous value, for partSplice
	middle         []piece // for partFull and partSplice
}

// A piece is a run of bytes: the next n of the checkpoint's own body, or n
// bytes of a step result recorded earlier in the same thread.
type piece struct {
	n    int
	back uint64 // distance to the step's entry; 0: the checkpoint's own body
	rec  int    // index of the step among the entry's records
	off  int    // where in the result
}

// A partList is the state section of a checkpoint's header: the changed parts
// and, every manifestEvery checkpoints, references to the unchanged ones.
type partList struct {
	manifest  uint64 // distance to the newest manifest; 0: this is one
	total     int    // parts there are; if all of them changed, nothing else need be read
	changes   []partChange
	unchanged []partRef // only in a manifest
}

func (l *partList) append(b []byte) []byte {
	b = canon.AppendUint(b, l.manifest)
	b = canon.AppendUint(b, uint64(l.total))
	b = canon.AppendUint(b, uint64(len(l.changes)))
	for i := range l.changes {
		c := &l.changes[i]
		b = append(b, c.op)
		b = c.partRef.append(b)
		switch c.op {
		case partSplice:
			b = canon.AppendUint(canon.AppendUint(b, uint64(c.prefix)), uint64(c.suffix))
			b = appendPieces(b, c.middle)
		case partFull:
			b = appendPieces(b, c.middle)
		}
	}
	if l.manifest == 0 {
		b = canon.AppendUint(b, uint64(len(l.unchanged)))
		for i := range l.unchanged {
			b = l.unchanged[i].append(b)
		}
	}
	return b
}

// farthest is the longest distance in the list.
func (l *partList) farthest() uint64 {
	far := l.manifest
	for i := range l.changes {
		c := &l.changes[i]
		far = max(far, c.last, c.full)
		for _, p := range c.middle {
			far = max(far, p.back)
		}
	}
	for i := range l.unchanged {
		far = max(far, l.unchanged[i].last, l.unchanged[i].full)
	}
	return far
}

func (p *partRef) append(b []byte) []byte {
	b = appendCodec(canon.AppendString(b, p.name), p.codec)
	b = canon.AppendUint(canon.AppendUint(b, uint64(p.size)), p.last)
	b = canon.AppendUint(canon.AppendUint(b, p.full), uint64(p.chain))
	return canon.AppendUint(b, uint64(p.dead))
}

func appendPieces(b []byte, ps []piece) []byte {
	b = canon.AppendUint(b, uint64(len(ps)))
	for _, p := range ps {
		b = canon.AppendUint(canon.AppendUint(b, uint64(p.n)), p.back)
		if p.back != 0 {
			b = canon.AppendUint(canon.AppendUint(b, uint64(p.rec)), uint64(p.off))
		}
	}
	return b
}

func (l *partList) read(r *canon.Reader) {
	l.manifest, l.total = r.Uint(), readInt(r)
	for range r.Items() {
		var c partChange
		c.op = r.Byte()
		c.partRef.read(r)
		switch c.op {
		case partSplice:
			c.prefix, c.suffix = readInt(r), readInt(r)
			c.middle = readPieces(r)
		case partFull:
			c.middle = readPieces(r)
		case partDrop:
		default:
			r.Fail("part changed in the unknown way %d", c.op)
		}
		l.changes = append(l.changes, c)
	}
	if l.manifest == 0 {
		for range r.Items() {
			var p partRef
			p.read(r)
			l.unchanged = append(l.unchanged, p)
		}
	}
}

func (p *partRef) read(r *canon.Reader) {
	p.name, p.codec = r.String(), readCodec(r)
	p.size, p.last = readInt(r), r.Uint()
	p.full, p.chain, p.dead = r.Uint(), readInt(r), readInt(r)
}

func readPieces(r *canon.Reader) []piece {
	var ps []piece
	for range r.Items() {
		p := piece{n: readInt(r), back: r.Uint()}
		if p.back != 0 {
			p.rec, p.off = readInt(r), readInt(r)
		}
		ps = append(ps, p)
	}
	return ps
}

// readInt reads a size; 1 TiB is beyond any limit there is.
func readInt(r *canon.Reader) int {
	u := r.Uint()
	if u > 1<<40 {
		r.Fail("size %d out of range", u)
		return 0
	}
	return int(u)
}

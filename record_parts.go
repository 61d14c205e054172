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
	far       uint64    // the longest distance in parts that are not listed, see [decoder.sameParts]
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
func (l *partList) farthest() uint64 { return max(l.manifest, l.far, l.farthestPart()) }

func (l *partList) farthestPart() (far uint64) {
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

func (l *partList) read(r *decoder) {
	l.manifest = r.Uint()
	if !r.sameParts(l) {
		before := r.Rest()
		l.readRest(r)
		r.rememberParts(l, before)
	}
}

// readRest reads what follows the distance to the manifest.
func (l *partList) readRest(r *decoder) {
	l.total = readInt(r)
	for range r.Items() {
		l.changes = oneMore(l.changes)
		l.changes[len(l.changes)-1].read(r)
	}
	if l.manifest == 0 {
		for range r.Items() {
			l.unchanged = oneMore(l.unchanged)
			l.unchanged[len(l.unchanged)-1].read(r)
		}
	}
}

// clear empties the list for another to be read into its memory.
func (l *partList) clear() {
	*l = partList{changes: l.changes[:0], unchanged: l.unchanged[:0]}
}

// oneMore appends an item, which has what was left in that place.
func oneMore[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var none T
	return append(s, none)
}

func (c *partChange) read(r *decoder) {
	*c = partChange{op: r.Byte(), middle: c.middle[:0]}
	c.partRef.read(r)
	switch c.op {
	case partSplice:
		c.prefix, c.suffix = readInt(r), readInt(r)
		c.middle = readPieces(r, c.middle)
	case partFull:
		c.middle = readPieces(r, c.middle)
	case partDrop:
	default:
		r.Fail("part changed in the unknown way %d", c.op)
	}
}

func (p *partRef) read(r *decoder) {
	p.name, p.codec = r.String(), readCodec(r)
	var u [5]uint64
	r.Uints(u[:])
	p.size, p.last, p.full = toInt(r, u[0]), u[1], u[2]
	p.chain, p.dead = toInt(r, u[3]), toInt(r, u[4])
}

func readPieces(r *decoder, ps []piece) []piece {
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
func readInt(r *decoder) int { return toInt(r, r.Uint()) }

func toInt(r *decoder, u uint64) int {
	if u > 1<<40 {
		return sizeOutOfRange(r, u)
	}
	return int(u)
}

func sizeOutOfRange(r *decoder, u uint64) int {
	r.Fail("size %d out of range", u)
	return 0
}

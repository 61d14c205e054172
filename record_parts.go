package posthouse

import "github.com/posthouse/posthouse/internal/base/canon"

// MetaPart is the part that holds a checkpoint's metadata. Unchanged metadata costs
// nothing, and encryption covers it.
const MetaPart = "$meta"

// How a part changed.
const (
	PartFull   = 0 // the whole value
	PartSplice = 1 // a prefix and a suffix of the previous value around a new middle
	PartDrop   = 2 // the part is gone
)

// A PartRef locates a part's value as of some checkpoint. Distances count entries back
// from the entry with the reference.
type PartRef struct {
	Name  string
	Codec string
	Size  int    // bytes of the value
	Last  uint64 // distance to the entry that last changed it
	Full  uint64 // distance to the entry that last held it in full
	Chain int    // splices since then
	Dead  int    // bytes written since then that are no longer part of the value
}

// A PartChange is what a checkpoint did to one part. Its PartRef describes the value
// after the change; Last is the distance to the change before.
type PartChange struct {
	PartRef
	Op             byte
	Prefix, Suffix int     // bytes kept of the previous value, for PartSplice
	Middle         []Piece // for PartFull and PartSplice
}

// A Piece is a run of bytes: the next n of the checkpoint's own body, or n
// bytes of a step result recorded earlier in the same thread.
type Piece struct {
	N    int
	Back uint64 // distance to the step's entry; 0: the checkpoint's own body
	Rec  int    // index of the step among the entry's records
	Off  int    // where in the result
}

// A PartList is the state section of a checkpoint's header. It lists the changed parts,
// and in a manifest references to the unchanged ones, too.
type PartList struct {
	Manifest  uint64 // distance to the newest manifest; 0: this is one
	Total     int    // number of parts; if all of them changed, nothing else need be read
	Changes   []PartChange
	Unchanged []PartRef // only in a manifest
	far       uint64    // the longest distance in unlisted parts, see [decoder.sameParts]
}

func (l *PartList) append(b []byte) []byte {
	b = canon.AppendUint(b, l.Manifest)
	b = canon.AppendUint(b, uint64(l.Total))
	b = canon.AppendUint(b, uint64(len(l.Changes)))
	for i := range l.Changes {
		c := &l.Changes[i]
		b = append(b, c.Op)
		b = c.PartRef.append(b)
		switch c.Op {
		case PartSplice:
			b = canon.AppendUint(canon.AppendUint(b, uint64(c.Prefix)), uint64(c.Suffix))
			b = appendPieces(b, c.Middle)
		case PartFull:
			b = appendPieces(b, c.Middle)
		}
	}
	if l.Manifest == 0 {
		b = canon.AppendUint(b, uint64(len(l.Unchanged)))
		for i := range l.Unchanged {
			b = l.Unchanged[i].append(b)
		}
	}
	return b
}

func (l *PartList) farthest() uint64 { return max(l.Manifest, l.far, l.farthestPart()) }

func (l *PartList) farthestPart() (far uint64) {
	for i := range l.Changes {
		c := &l.Changes[i]
		far = max(far, c.Last, c.Full)
		for _, p := range c.Middle {
			far = max(far, p.Back)
		}
	}
	for i := range l.Unchanged {
		far = max(far, l.Unchanged[i].Last, l.Unchanged[i].Full)
	}
	return far
}

func (p *PartRef) append(b []byte) []byte {
	b = appendCodec(canon.AppendString(b, p.Name), p.Codec)
	b = canon.AppendUint(canon.AppendUint(b, uint64(p.Size)), p.Last)
	b = canon.AppendUint(canon.AppendUint(b, p.Full), uint64(p.Chain))
	return canon.AppendUint(b, uint64(p.Dead))
}

func appendPieces(b []byte, ps []Piece) []byte {
	b = canon.AppendUint(b, uint64(len(ps)))
	for _, p := range ps {
		b = canon.AppendUint(canon.AppendUint(b, uint64(p.N)), p.Back)
		if p.Back != 0 {
			b = canon.AppendUint(canon.AppendUint(b, uint64(p.Rec)), uint64(p.Off))
		}
	}
	return b
}

func (l *PartList) read(r *decoder) {
	l.Manifest = r.Uint()
	if !r.sameParts(l) {
		before := r.Rest()
		l.readRest(r)
		r.rememberParts(l, before)
	}
}

func (l *PartList) readRest(r *decoder) {
	l.Total = readInt(r)
	for range r.Items() {
		l.Changes = oneMore(l.Changes)
		l.Changes[len(l.Changes)-1].read(r)
	}
	if l.Manifest == 0 {
		for range r.Items() {
			l.Unchanged = oneMore(l.Unchanged)
			l.Unchanged[len(l.Unchanged)-1].read(r)
		}
	}
}

// clear empties the list, so that another can be read into its memory.
func (l *PartList) clear() {
	*l = PartList{Changes: l.Changes[:0], Unchanged: l.Unchanged[:0]}
}

// oneMore appends an item, which keeps what that place held before.
func oneMore[T any](s []T) []T {
	if len(s) < cap(s) {
		return s[:len(s)+1]
	}
	var none T
	return append(s, none)
}

func (c *PartChange) read(r *decoder) {
	*c = PartChange{Op: r.Byte(), Middle: c.Middle[:0]}
	c.PartRef.read(r)
	switch c.Op {
	case PartSplice:
		c.Prefix, c.Suffix = readInt(r), readInt(r)
		c.Middle = readPieces(r, c.Middle)
	case PartFull:
		c.Middle = readPieces(r, c.Middle)
	case PartDrop:
	default:
		r.Fail("part changed in the unknown way %d", c.Op)
	}
}

func (p *PartRef) read(r *decoder) {
	p.Name, p.Codec = r.String(), readCodec(r)
	var u [5]uint64
	r.Uints(u[:])
	p.Size, p.Last, p.Full = toInt(r, u[0]), u[1], u[2]
	p.Chain, p.Dead = toInt(r, u[3]), toInt(r, u[4])
}

func readPieces(r *decoder, ps []Piece) []Piece {
	for range r.Items() {
		p := Piece{N: readInt(r), Back: r.Uint()}
		if p.Back != 0 {
			p.Rec, p.Off = readInt(r), readInt(r)
		}
		ps = append(ps, p)
	}
	return ps
}

// readInt reads a size; 1 TiB exceeds every limit.
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

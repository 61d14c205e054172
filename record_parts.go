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
	far       uint64    // the longest distance in unlisted parts, see fields.sameParts
}

func (l *PartList) fields(f *fields) {
	f.Number(&l.Manifest)
	switch {
	case f.shared == nil:
		l.items(f)
	case !f.sameParts(l):
		before := f.Rest()
		l.items(f)
		f.rememberParts(l, before)
	}
}

func (l *PartList) items(f *fields) {
	f.Size(&l.Total)
	canon.List(&f.Fields, &l.Changes, func(c *PartChange) { c.fields(f) })
	if l.Manifest == 0 {
		canon.List(&f.Fields, &l.Unchanged, func(p *PartRef) { p.fields(f) })
	}
}

func (c *PartChange) fields(f *fields) {
	if !f.Writing() {
		*c = PartChange{Middle: c.Middle[:0]}
	}
	f.Octet(&c.Op)
	c.PartRef.fields(f)
	switch c.Op {
	case PartSplice:
		f.Size(&c.Prefix)
		f.Size(&c.Suffix)
		f.pieces(&c.Middle)
	case PartFull:
		f.pieces(&c.Middle)
	case PartDrop:
	default:
		f.Fail("part changed in the unknown way %d", c.Op)
	}
}

func (p *PartRef) fields(f *fields) {
	f.Text(&p.Name)
	f.codec(&p.Codec)
	u := [...]uint64{uint64(p.Size), p.Last, p.Full, uint64(p.Chain), uint64(p.Dead)}
	if f.Numbers(u[:]); !f.Writing() {
		p.Size, p.Last, p.Full, p.Chain, p.Dead = f.ToSize(u[0]), u[1], u[2], f.ToSize(u[3]), f.ToSize(u[4])
	}
}

func (f *fields) pieces(list *[]Piece) {
	canon.List(&f.Fields, list, func(p *Piece) {
		f.Size(&p.N)
		if f.Number(&p.Back); p.Back != 0 {
			f.Size(&p.Rec)
			f.Size(&p.Off)
		} else if !f.Writing() {
			p.Rec, p.Off = 0, 0
		}
	})
}

// clear empties the list, so that another can be read into its memory.
func (l *PartList) clear() {
	*l = PartList{Changes: l.Changes[:0], Unchanged: l.Unchanged[:0]}
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

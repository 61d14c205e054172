package s3store

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
	"github.com/posthouse/posthouse/internal/framelog"
)

// Kinds of frame besides those of package framelog. Their numbers are part of the format.
const (
	kindCommit   framelog.Kind = 32 // the first of a commit
	kindRemoval  framelog.Kind = 33 // of a commit that removes
	kindGone     framelog.Kind = 34 // in the place of a removed entry: the ids that it took away
	kindManifest framelog.Kind = 35 // the first of a manifest
)

// A token tells one commit from every other.
type token [16]byte

// A commitHead begins a commit. It names the commit before, so that a commit that was
// swapped, replayed or taken from another store is noticed.
type commitHead struct {
	number uint64
	id     token
	before token
	frames int // that follow
}

func (h *commitHead) append(b []byte) []byte {
	return frame(b, func(b []byte) []byte {
		b = canon.AppendUint(append(b, byte(kindCommit)), h.number)
		b = append(append(b, h.id[:]...), h.before[:]...)
		return canon.AppendUint(b, uint64(h.frames))
	})
}

func (h *commitHead) read(head []byte) error {
	r := canon.NewReader(head)
	kind := framelog.Kind(r.Byte())
	*h = commitHead{number: r.Uint()}
	copy(h.id[:], r.Raw(16))
	copy(h.before[:], r.Raw(16))
	h.frames = int(r.Uint())
	return ended(r, kind, kindCommit)
}

// A removal is what a commit removes, with the summary that stays.
type removal struct {
	commit  uint64
	what    posthouse.Removal
	summary []byte // empty if the thread goes
}

func (m *removal) append(b []byte) []byte {
	what, _ := json.Marshal(&m.what) // never fails
	return frame(b, func(b []byte) []byte {
		b = binary.LittleEndian.AppendUint64(append(b, byte(kindRemoval)), m.commit)
		return canon.AppendBytes(canon.AppendBytes(b, what), m.summary)
	})
}

func (m *removal) read(head []byte) error {
	r := canon.NewReader(head)
	kind := framelog.Kind(r.Byte())
	commit := r.Raw(8)
	if len(commit) == 8 {
		m.commit = binary.LittleEndian.Uint64(commit)
	}
	what, summary := r.Bytes(), r.Bytes()
	if err := ended(r, kind, kindRemoval); err != nil {
		return err
	}
	m.summary = summary
	return json.Unmarshal(what, &m.what)
}

// A gone takes the place of an entry that was removed while older ones stay.
type gone struct {
	thread string
	ids    []string // that the entry took away from older ones
}

func (g *gone) append(b []byte) []byte {
	return frame(b, func(b []byte) []byte {
		return canon.AppendStrings(canon.AppendString(append(b, byte(kindGone)), g.thread), g.ids)
	})
}

func (g *gone) read(head []byte) error {
	r := canon.NewReader(head)
	kind := framelog.Kind(r.Byte())
	*g = gone{r.String(), r.Strings()}
	return ended(r, kind, kindGone)
}

// A manifestHead begins a manifest: the commits from one to another without bodies.
type manifestHead struct{ first, last uint64 }

func (h *manifestHead) append(b []byte) []byte {
	return frame(b, func(b []byte) []byte {
		return canon.AppendUint(canon.AppendUint(append(b, byte(kindManifest)), h.first), h.last)
	})
}

func (h *manifestHead) read(head []byte) error {
	r := canon.NewReader(head)
	kind := framelog.Kind(r.Byte())
	*h = manifestHead{r.Uint(), r.Uint()}
	return ended(r, kind, kindManifest)
}

func ended(r *canon.Reader, have, want framelog.Kind) error {
	if err := r.Done(); err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("a frame is of kind %d, not %d", have, want)
	}
	return nil
}

// frame appends a frame without a body; fill appends its head.
func frame(b []byte, fill func([]byte) []byte) []byte {
	at := len(b)
	b = fill(append(b, make([]byte, framelog.HeaderSize)...))
	framelog.Seal(b[at:], len(b)-at-framelog.HeaderSize)
	return b
}

// A piece is one frame of a commit.
type piece struct {
	framelog.Frame
	raw []byte // the frame, without its body in a manifest
}

// A commit is a commit as it was read.
type commit struct {
	commitHead
	pieces []piece // with the offsets that they have in the commit's object
	size   int64
}

// readCommit reads the commit at the beginning of b, which is an object of its own or, if
// bare, one of the commits of a manifest. It returns what follows. Bodies are not checked,
// but that they are there.
func readCommit(b []byte, bare bool) (c *commit, rest []byte, err error) {
	c = &commit{}
	next := func() (p piece, err error) {
		p.Frame, err = framelog.Parse(b, false)
		if err != nil {
			return p, err
		}
		n := p.Size()
		if bare {
			n -= int64(p.BodySize)
		}
		if n > int64(len(b)) {
			return p, &framelog.Damage{At: c.size, Why: "is cut off"}
		}
		p.At, p.raw, b = c.size, b[:n:n], b[n:]
		c.size += p.Size()
		return p, nil
	}
	first, err := next()
	if err == nil {
		err = c.read(first.Head)
	}
	for i := 0; err == nil && i < c.frames; i++ {
		var p piece
		p, err = next()
		if err == nil {
			c.pieces = append(c.pieces, p)
		}
	}
	if err == nil && !bare && len(b) > 0 {
		err = fmt.Errorf("%d bytes follow the commit", len(b))
	}
	return c, b, err
}

// bare appends the commit without bodies to b, as manifests have it.
func (c *commit) bare(b []byte) []byte {
	h := c.commitHead
	h.frames = len(c.pieces)
	b = h.append(b)
	for i := range c.pieces {
		p := &c.pieces[i]
		b = append(b, p.raw[:framelog.HeaderSize+len(p.Head)]...)
	}
	return b
}

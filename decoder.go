package posthouse

import (
	"maps"
	"strings"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// A decoder reads what records and summaries encode.
type decoder struct {
	canon.Reader
	shared *shared // nil: nothing is shared
}

func newDecoder(b []byte) *decoder {
	d := new(decoder)
	d.Reset(b, nil)
	return d
}

// A shared is what headers that are read one after another have in common: values that
// repeat, and memory allocated for several at once. No two headers share writable
// memory.
type shared struct {
	words canon.Strings

	// The last UUIDs: most are met twice in a row, as a checkpoint and as its
	// child's parent.
	keys [2]OrderKey
	ids  [2]ID
	old  int             // which of the two is the older
	text strings.Builder // of ids

	// The last steady fields and the last list of parts, encoded and decoded: equal
	// bytes need no second decoding.
	flags  uint64
	steady []byte
	like   Header
	parts  []byte
	far    uint64

	headers []Header
	used    int // of headers
	names   []string
}

// How many are allocated at once. A caller that keeps one of them keeps the memory of
// all.
const (
	sharedHeaders = 32
	sharedIDs     = 16
	sharedNames   = 32
)

func (d *decoder) id(k OrderKey) ID {
	s := d.shared
	if s == nil {
		return k.ID()
	}
	for i := range s.keys {
		if s.keys[i] == k { // never the zero key, which is not valid
			return s.ids[i]
		}
	}
	text := k.text()
	if s.text.Cap()-s.text.Len() < len(text) {
		s.text.Reset()
		s.text.Grow(sharedIDs * len(text))
	}
	s.text.Write(text[:])
	all := s.text.String()
	id := ID(all[len(all)-len(text):])
	s.keys[s.old], s.ids[s.old] = k, id
	s.old = 1 - s.old
	return id
}

func (d *decoder) header() *Header {
	s := d.shared
	if s == nil {
		return new(Header)
	}
	if s.used == len(s.headers) {
		s.headers, s.used = make([]Header, min(2*len(s.headers)+1, sharedHeaders)), 0
	}
	s.used++
	return &s.headers[s.used-1]
}

func (d *decoder) list() []string {
	s := d.shared
	if s == nil {
		return d.Strings()
	}
	from := s.room()
	for range d.Items() {
		s.names = append(s.names, d.String())
	}
	return s.since(from)
}

// room makes room for at least one more name and returns its place.
func (s *shared) room() int {
	if len(s.names) == cap(s.names) {
		s.names = make([]string, 0, sharedNames)
	}
	return len(s.names)
}

func (s *shared) since(from int) []string {
	n := len(s.names)
	if n == from {
		return nil
	}
	return s.names[from:n:n]
}

func (d *decoder) sameSteady(c *Header, flags uint64) bool {
	s := d.shared
	if s == nil || flags != s.flags || len(s.steady) == 0 || !d.Consume(s.steady) {
		return false
	}
	s.likeBefore(c)
	return true
}

func (s *shared) likeBefore(c *Header) {
	l := &s.like
	c.Coordination, c.Branch, c.Run, c.Graph, c.Fingerprint = l.Coordination, l.Branch, l.Run, l.Graph, l.Fingerprint
	c.Node, c.Agent, c.By, c.Error = l.Node, l.Agent, l.By, l.Error
	if len(l.Next) > 0 {
		from := s.room()
		s.names = append(s.names, l.Next...)
		c.Next = s.since(from)
	}
	if l.Source != nil {
		source := *l.Source
		c.Source = &source
	}
	if l.Labels != nil {
		c.Labels = maps.Clone(l.Labels)
	}
}

// rememberSteady keeps the steady fields, which were the first bytes of before.
func (d *decoder) rememberSteady(c *Header, flags uint64, before []byte) {
	if s := d.shared; s != nil && d.Err() == nil {
		s.flags, s.steady = flags, append(s.steady[:0], before[:len(before)-d.Len()]...)
		next := append(s.like.Next[:0], c.Next...)
		s.like = *c
		s.like.Next, s.like.Labels = next, maps.Clone(c.Labels)
		if c.Source != nil {
			source := *c.Source
			s.like.Source = &source
		}
	}
}

// sameParts passes over a list of parts that equals the one before. Its content is not
// needed where headers are shared.
func (d *decoder) sameParts(l *PartList) bool {
	s := d.shared
	if s == nil || l.Manifest == 0 || len(s.parts) == 0 || !d.Consume(s.parts) {
		return false
	}
	l.far = s.far
	return true
}

// rememberParts keeps the list of parts, which was the first bytes of before.
func (d *decoder) rememberParts(l *PartList, before []byte) {
	if s := d.shared; s != nil && d.Err() == nil && l.Manifest != 0 {
		s.parts = append(s.parts[:0], before[:len(before)-d.Len()]...)
		s.far = l.farthestPart()
	}
}

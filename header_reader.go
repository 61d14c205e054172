package posthouse

import (
	"bytes"
	"maps"
	"math"
	"time"

	"github.com/posthouse/posthouse/internal/base/canon"
	"github.com/posthouse/posthouse/internal/base/uuid"
)

// A HeaderReader decodes the checkpoints of one entry after another for a [Store.List].
// It is faster than [Entry.Records]: what repeats from one header to the next is
// decoded once. The zero HeaderReader is ready. Use it from one goroutine at a time,
// and do not copy it after its first use.
type HeaderReader struct {
	Query Query // only headers that pass its filters are returned; see [Query.Match]

	shared shared
	fields fields
	entry  entryHeader
	heads  []*Header
	own    []bool
}

// Read returns the headers of the entry's checkpoints, as Records has them. The slice
// is valid until the next Read. The headers are the caller's, to keep and to change;
// one that is kept keeps the memory of up to 31 others. [ErrCorrupt].
func (r *HeaderReader) Read(e *Entry) ([]*Header, error) {
	r.fields.Reset(e.Header, &r.shared.words)
	r.fields.shared = &r.shared
	r.heads, r.own = r.heads[:0], r.own[:0]
	before := r.shared.used
	if c := r.alike(e); c != nil {
		if r.Query.Match(c) {
			r.heads, r.own = append(r.heads, c), append(r.own, true)
		}
		r.spare(before)
		return r.heads, nil
	}
	r.fields.Reset(e.Header, &r.shared.words)
	r.fields.shared = &r.shared
	if err := r.entry.read(&r.fields, e); err != nil {
		return nil, err
	}
	for i := range r.entry.records {
		if c := r.entry.records[i].Checkpoint; c != nil && r.Query.Match(c) {
			r.heads, r.own = append(r.heads, c), append(r.own, r.entry.records[i].own)
		}
	}
	r.spare(before)
	return r.heads, nil
}

// spare takes back the headers that did not match, so that they keep no memory.
func (r *HeaderReader) spare(before int) {
	if s := &r.shared; len(r.heads) == 0 && s.used > before {
		clear(s.headers[before:s.used])
		s.used = before
	}
}

// alike reads an entry whose single checkpoint has the steady fields and parts of the
// one before, as most have. It returns nil for any other, and for a malformed one:
// entryHeader.read then reads it, or says why not. It works without [fields], whose
// calls would double the time.
func (r *HeaderReader) alike(e *Entry) *Header {
	f, s, b := &r.fields, &r.shared, e.Header
	if len(s.steady) == 0 || len(s.parts) == 0 || len(b) == 0 || len(b) >= canon.Beyond || b[0] != entryFormat && b[0] != entryStory {
		return nil
	}
	ms, at := canon.UintAt(b, 1)
	if len(b)-at < 2 || b[at] != 1 || b[at+1] != byte(RecordCheckpoint) {
		return nil
	}
	body, at := canon.UintAt(b, at+2)
	flags, at := canon.UintAt(b, at+len(Hash{}))
	id, at := quickKey(b, at)
	if len(b)-at < 2 || ms > MaxMillis || body == 0 || body > 1<<40 || flags&flagsSteady != s.flags ||
		flags&^flagStory >= flagCreated || (b[0] == entryStory) != (flags&flagStory != 0) {
		return nil
	}
	why, status := b[at], b[at+1]
	step, at := canon.UintAt(b, at+2)
	size, at := canon.UintAt(b, at)
	var parent OrderKey
	var parentSeq uint64
	if flags&flagParent != 0 {
		parent, at = quickKey(b, at)
		parentSeq, at = canon.UintAt(b, at)
		if parentSeq == 0 || parentSeq >= e.Seq {
			return nil
		}
	}
	if int(why) >= len(kindCodes) || int(status) >= len(statusCodes) || size > 1<<40 ||
		s.like.Coordination != "" && s.like.Coordination == e.Thread || at > len(b) || !bytes.HasPrefix(b[at:], s.steady) {
		return nil
	}
	at += len(s.steady)
	var took, attempts uint64
	if flags&flagStory != 0 {
		took, at = canon.UintAt(b, at)
		attempts, at = canon.UintAt(b, at)
		if took > MaxMillis || attempts > math.MaxUint32 || took == 0 && attempts == 0 {
			return nil
		}
	}
	manifest, at := canon.UintAt(b, at)
	far := max(manifest, s.far)
	if at > len(b) || far >= e.Seq && far > 0 {
		return nil
	}
	parts := b[at:]
	if manifest == 0 {
		// The same changes, followed by the number of unchanged parts: zero.
		if len(parts) == 0 || parts[len(parts)-1] != 0 {
			return nil
		}
		parts = parts[:len(parts)-1]
	}
	if !bytes.Equal(parts, s.parts) {
		return nil
	}
	c := f.header()
	s.likeBefore(c)
	c.ID, c.Order, c.Kind, c.Status, c.Step, c.Size = f.textOf(id), id, kindCodes[why], statusCodes[status], step, int(size)
	if parentSeq != 0 {
		c.Parent, c.ParentSeq = f.textOf(parent), parentSeq
	}
	c.Thread, c.Generation, c.Seq, c.Hash = e.Thread, e.Generation, e.Seq, e.Hash
	if c.Coordination == "" {
		c.Coordination = e.Thread
	}
	c.CreatedAt = time.UnixMilli(int64(ms)).UTC()
	c.Took, c.Attempts = time.Duration(took)*time.Millisecond, int(attempts)
	c.Began = beganBefore(c.CreatedAt, c.Took, c.Attempts)
	return c
}

// Own reports whether the id of the i-th header of the last Read is our UUID and
// its own order key.
func (r *HeaderReader) Own(i int) bool { return r.own[i] }

// quickKey reads an id that is one of our UUIDs, as canon.UintAt reads numbers.
func quickKey(b []byte, at int) (k OrderKey, next int) {
	if len(b)-at < 17 || b[at] != 0 {
		return k, canon.Beyond
	}
	k = OrderKey(b[at+1:])
	if !k.Valid() {
		return k, canon.Beyond
	}
	return k, at + 17
}

// A shared is what headers that are read one after another have in common: values that
// repeat, and memory allocated for several at once. No two headers share writable
// memory.
type shared struct {
	words canon.Strings
	ids   uuid.Texts
	names canon.StringLists

	// The last steady fields and the last list of parts, encoded and decoded: equal
	// bytes need no second decoding.
	flags  uint64
	steady []byte
	like   Header
	parts  []byte
	far    uint64

	headers []Header
	used    int // of headers
}

// sharedHeaders is how many are allocated at once.
const sharedHeaders = 32

// textOf is the id of a UUID that is read.
func (f *fields) textOf(k OrderKey) ID {
	if f.shared == nil {
		return k.ID()
	}
	return ID(f.shared.ids.Of(k))
}

// names is a list of names.
func (f *fields) names(list *[]string) {
	if f.shared == nil {
		f.Texts(list)
		return
	}
	*list = f.shared.names.Read(&f.Reader)
}

func (f *fields) header() *Header {
	s := f.shared
	if s == nil {
		return new(Header)
	}
	if s.used == len(s.headers) {
		s.headers, s.used = make([]Header, min(2*len(s.headers)+1, sharedHeaders)), 0
	}
	s.used++
	return &s.headers[s.used-1]
}

// sameSteady passes over steady fields that equal those of the header before, and copies them.
func (f *fields) sameSteady(c *Header, flags uint64) bool {
	s := f.shared
	if flags != s.flags || len(s.steady) == 0 || !f.Consume(s.steady) {
		return false
	}
	s.likeBefore(c)
	return true
}

func (s *shared) likeBefore(c *Header) {
	l := &s.like
	c.Coordination, c.Branch, c.Run, c.Graph, c.Fingerprint = l.Coordination, l.Branch, l.Run, l.Graph, l.Fingerprint
	c.Node, c.Agent, c.By, c.Error = l.Node, l.Agent, l.By, l.Error
	c.Next = s.names.Clone(l.Next)
	if l.Source != nil {
		source := *l.Source
		c.Source = &source
	}
	if l.Labels != nil {
		c.Labels = maps.Clone(l.Labels)
	}
}

// rememberSteady keeps the steady fields, which were the first bytes of before.
func (f *fields) rememberSteady(c *Header, flags uint64, before []byte) {
	if s := f.shared; f.Err() == nil {
		s.flags, s.steady = flags, append(s.steady[:0], before[:len(before)-f.Len()]...)
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
func (f *fields) sameParts(l *PartList) bool {
	s := f.shared
	if l.Manifest == 0 || len(s.parts) == 0 || !f.Consume(s.parts) {
		return false
	}
	l.far = s.far
	return true
}

// rememberParts keeps the list of parts, which was the first bytes of before.
func (f *fields) rememberParts(l *PartList, before []byte) {
	if s := f.shared; f.Err() == nil && l.Manifest != 0 {
		s.parts = append(s.parts[:0], before[:len(before)-f.Len()]...)
		s.far = l.farthestPart()
	}
}

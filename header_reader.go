package posthouse

import (
	"bytes"
	"time"
)

// A HeaderReader decodes the checkpoints of one entry after another for a [Store.List].
// It is faster than [Entry.Records]: what repeats from one header to the next is
// decoded once. The zero HeaderReader is ready. Use it from one goroutine at a time,
// and do not copy it after its first use.
type HeaderReader struct {
	Query Query // only headers that pass its filters are returned; see [Query.Match]

	shared  shared
	decoder decoder
	entry   entryHeader
	heads   []*Header
	own     []bool
}

// Read returns the headers of the entry's checkpoints, as Records has them. The slice
// is valid until the next Read. The headers are the caller's, to keep and to change;
// one that is kept keeps the memory of up to 31 others. [ErrCorrupt].
func (r *HeaderReader) Read(e *Entry) ([]*Header, error) {
	r.decoder.Reset(e.Header, &r.shared.words)
	r.decoder.shared = &r.shared
	r.heads, r.own = r.heads[:0], r.own[:0]
	before := r.shared.used
	if c := r.alike(e); c != nil {
		if r.Query.Match(c) {
			r.heads, r.own = append(r.heads, c), append(r.own, true)
		}
		r.spare(before)
		return r.heads, nil
	}
	r.decoder.Reset(e.Header, &r.shared.words)
	r.decoder.shared = &r.shared
	if err := r.entry.read(&r.decoder, e); err != nil {
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
// entryHeader.read then reads it, or says why not. It works without the decoder, whose
// calls would double the time.
func (r *HeaderReader) alike(e *Entry) *Header {
	d, s, b := &r.decoder, &r.shared, e.Header
	if len(s.steady) == 0 || len(s.parts) == 0 || len(b) == 0 || len(b) >= beyond || b[0] != entryFormat {
		return nil
	}
	ms, at := quickUint(b, 1)
	if len(b)-at < 2 || b[at] != 1 || b[at+1] != byte(RecordCheckpoint) {
		return nil
	}
	body, at := quickUint(b, at+2)
	flags, at := quickUint(b, at+len(Hash{}))
	id, at := quickKey(b, at)
	if len(b)-at < 2 || ms > MaxMillis || body == 0 || body > 1<<40 || flags&flagsSteady != s.flags || flags >= flagCreated {
		return nil
	}
	why, status := b[at], b[at+1]
	step, at := quickUint(b, at+2)
	size, at := quickUint(b, at)
	var parent OrderKey
	var parentSeq uint64
	if flags&flagParent != 0 {
		parent, at = quickKey(b, at)
		if parentSeq, at = quickUint(b, at); parentSeq == 0 || parentSeq >= e.Seq {
			return nil
		}
	}
	if int(why) >= len(kindCodes) || int(status) >= len(statusCodes) || size > 1<<40 ||
		s.like.Coordination != "" && s.like.Coordination == e.Thread || at > len(b) || !bytes.HasPrefix(b[at:], s.steady) {
		return nil
	}
	manifest, at := quickUint(b, at+len(s.steady))
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
	c := d.header()
	s.likeBefore(c)
	c.ID, c.Order, c.Kind, c.Status, c.Step, c.Size = d.id(id), id, kindCodes[why], statusCodes[status], step, int(size)
	if parentSeq != 0 {
		c.Parent, c.ParentSeq = d.id(parent), parentSeq
	}
	c.Thread, c.Generation, c.Seq, c.Hash = e.Thread, e.Generation, e.Seq, e.Hash
	if c.Coordination == "" {
		c.Coordination = e.Thread
	}
	c.CreatedAt = time.UnixMilli(int64(ms)).UTC()
	return c
}

// Own reports whether the id of the i-th header of the last Read is our UUID and
// its own order key.
func (r *HeaderReader) Own(i int) bool { return r.own[i] }

// quickUint reads a minimal varint of at most 63 bits at b[at:]. Without one, next lies
// beyond the end of b.
func quickUint(b []byte, at int) (v uint64, next int) {
	for shift := 0; at < len(b) && shift < 63; shift += 7 {
		c := b[at]
		at++
		v |= uint64(c&0x7f) << shift
		if c == 0 && shift > 0 {
			break
		}
		if c < 0x80 {
			return v, at
		}
	}
	return 0, beyond
}

// quickKey reads an id that is one of our UUIDs, as quickUint reads numbers.
func quickKey(b []byte, at int) (k OrderKey, next int) {
	if len(b)-at < 17 || b[at] != 0 {
		return k, beyond
	}
	if k = OrderKey(b[at+1:]); !k.Valid() {
		return k, beyond
	}
	return k, at + 17
}

// beyond lies behind the end of any header that is read quickly, whatever is added.
const beyond = 1 << 24

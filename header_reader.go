package posthouse

// A HeaderReader decodes the checkpoints of entries, one entry after another,
// for a [Store.List]: faster than [Entry.Records] does, as what repeats from one
// header to the next is decoded once. The zero HeaderReader is ready.
// It is used by one goroutine at a time and must not be copied once used.
type HeaderReader struct {
	Query Query // only headers that pass its filters are returned; see [Query.Match]

	shared  shared
	decoder decoder
	entry   entryHeader
	heads   []*Header
	own     []bool
}

// Read returns the headers of the entry's checkpoints, as Records has them. The
// slice is good until the next Read; the headers are the caller's, to keep and
// to change. What is kept of one header keeps the memory of up to 31 others.
// [ErrCorrupt].
func (r *HeaderReader) Read(e *Entry) ([]*Header, error) {
	r.decoder.Reset(e.Header, &r.shared.words)
	r.decoder.shared = &r.shared
	r.heads, r.own = r.heads[:0], r.own[:0]
	before := r.shared.used
	if err := r.entry.read(&r.decoder, e); err != nil {
		return nil, err
	}
	for i := range r.entry.records {
		if c := r.entry.records[i].Checkpoint; c != nil && r.Query.Match(c) {
			r.heads, r.own = append(r.heads, c), append(r.own, r.entry.records[i].own)
		}
	}
	if s := &r.shared; len(r.heads) == 0 && s.used > before { // what did not match is not kept by what does
		clear(s.headers[before:s.used])
		s.used = before
	}
	return r.heads, nil
}

// Own reports whether the id of the i-th header that Read returned last is a
// version 7 UUID and its own order key.
func (r *HeaderReader) Own(i int) bool { return r.own[i] }

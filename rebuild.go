package posthouse

import (
	"bytes"
	"context"

	"github.com/posthouse/posthouse/internal/delta"
)

// A rebuilt is a checkpoint read back from the log.
type rebuilt struct {
	header   Header
	state    State // metaPart included
	parts    []partState
	manifest uint64
	age      int
}

// A logReader reads entries of one thread, each checked against its hash and
// kept for as long as the reader lives.
type logReader struct {
	l      *Core
	ctx    context.Context
	thread string
	have   map[uint64]*readEntry
	size   int // bytes of the bodies in have

	known map[string][]byte // values of parts of the checkpoint that is read next
}

type readEntry struct {
	Entry
	recs   []Record
	bodies bool
}

// size returns the bytes that the entry holds in memory.
func (e *readEntry) size() int {
	n := len(e.Header)
	for _, b := range e.Bodies {
		n += len(b)
	}
	return n
}

func (l *Core) reader(ctx context.Context, thread string) *logReader {
	return &logReader{l: l, ctx: ctx, thread: thread, have: map[uint64]*readEntry{}}
}

// Bounds of what a reader that walks a long history holds on to.
const (
	keepEntries = 4096
	keepBytes   = 64 << 20
)

// fetch makes sure of the entries in the range. One that it has with its bodies
// stays when it is read without.
func (r *logReader) fetch(rg Range) error {
	for e, err := range r.l.store.Read(r.ctx, r.thread, rg) {
		if err != nil {
			return err
		}
		old := r.have[e.Seq]
		if old != nil && (old.bodies || rg.Headers) {
			continue
		}
		if rg.Headers {
			e.Bodies = nil
		}
		recs, err := r.l.opened(r.ctx, e)
		if err != nil {
			return err
		}
		r.have[e.Seq] = &readEntry{*e, recs, !rg.Headers}
		for _, b := range e.Bodies {
			r.size += len(b)
		}
	}
	return nil
}

func (r *logReader) entry(seq uint64, bodies bool) (*readEntry, error) {
	if e := r.have[seq]; e != nil && (e.bodies || !bodies) {
		return e, nil
	}
	if len(r.have) > keepEntries || r.size > keepBytes {
		clear(r.have)
		r.size = 0
	}
	if err := r.fetch(Range{Seqs: []uint64{seq}, Headers: !bodies}); err != nil {
		return nil, err
	}
	if e := r.have[seq]; e != nil {
		return e, nil
	}
	return nil, corrupt("entry %d of thread %q is missing", seq, r.thread)
}

// checkpoint returns the checkpoint record of an entry and its index.
func (e *readEntry) checkpoint() (*Record, int, error) {
	for i := range e.recs {
		if e.recs[i].Checkpoint != nil {
			return &e.recs[i], i, nil
		}
	}
	return nil, 0, corrupt("entry %d of thread %q holds no checkpoint", e.Seq, e.Thread)
}

func (l *Core) rebuild(ctx context.Context, thread string, seq uint64) (*rebuilt, error) {
	return l.reader(ctx, thread).rebuild(seq)
}

// header returns the checkpoint of an entry.
func (r *logReader) header(seq uint64) (*Header, error) {
	e, err := r.entry(seq, false)
	if err != nil {
		return nil, err
	}
	rec, _, err := e.checkpoint()
	if err != nil {
		return nil, err
	}
	return rec.Checkpoint, nil
}

// rebuild reads the checkpoint at seq with its state.
func (r *logReader) rebuild(seq uint64) (*rebuilt, error) {
	b, err := r.locate(seq)
	if err != nil {
		return nil, err
	}
	b.state = make(State, len(b.parts))
	for i := range b.parts {
		p := &b.parts[i]
		data, ok := r.known[p.name]
		if !ok {
			if data, err = r.value(p); err != nil {
				return nil, err
			}
		}
		p.data, p.known = data, true
		b.state[p.name] = Value{p.codec, data}
	}
	return b, nil
}

// locate finds where the parts of the checkpoint at seq are: in its own header
// and those of its ancestors back to the newest manifest.
func (r *logReader) locate(seq uint64) (*rebuilt, error) {
	e, err := r.entry(seq, true)
	if err != nil {
		return nil, err
	}
	rec, _, err := e.checkpoint()
	if err != nil {
		return nil, err
	}
	b := &rebuilt{header: *rec.Checkpoint, manifest: seq - rec.parts.manifest}
	live := 0
	for _, c := range rec.parts.changes {
		if c.op != partDrop {
			live++
		}
	}
	complete := live == rec.parts.total
	if n := rec.parts.manifest; n > 1 && n <= 16*manifestEvery && !complete {
		if err := r.fetch(Range{From: seq - n, To: seq - 1, Headers: true}); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for {
		at := e.Seq
		for _, c := range rec.parts.changes {
			if !seen[c.name] {
				seen[c.name] = true
				if c.op != partDrop {
					p := c.state(at)
					p.last = at
					b.parts = append(b.parts, p)
				}
			}
		}
		for _, u := range rec.parts.unchanged {
			if !seen[u.name] {
				seen[u.name] = true
				b.parts = append(b.parts, u.state(at))
			}
		}
		if rec.parts.manifest == 0 {
			return b, nil
		}
		b.age++
		if complete {
			b.age = manifestEvery // not counted: the next one brings a manifest
			return b, nil
		}
		parent := rec.Checkpoint.ParentSeq
		if parent == 0 || parent >= at {
			return nil, corrupt("checkpoint %s at entry %d of thread %q has no ancestor with a manifest", b.header.ID, at, r.thread)
		}
		if e, err = r.entry(parent, false); err != nil {
			return nil, err
		}
		if rec, _, err = e.checkpoint(); err != nil {
			return nil, err
		}
	}
}

func (p *partRef) state(seq uint64) partState {
	return partState{
		name: p.name, codec: p.codec, size: p.size, last: seq - p.last, full: seq - p.full,
		chain: p.chain, dead: p.dead,
	}
}

// maxGrowth bounds the room made at once for what a header says the splices
// will add, since a header may say anything.
const maxGrowth = 1 << 20

// value rebuilds one part: the newest full value and the splices since.
func (r *logReader) value(p *partState) ([]byte, error) {
	if span := p.last - p.full; p.chain > 4 && span <= uint64(16*p.chain) {
		if r.have[p.full] == nil || !r.have[p.full].bodies {
			if err := r.fetch(Range{From: p.full, To: p.last}); err != nil {
				return nil, err
			}
		}
	}
	var changes []*partChange
	var at []*readEntry
	for seq, i := p.last, 0; ; i++ {
		c, e, err := r.change(seq, p.name)
		if err != nil {
			return nil, err
		}
		changes, at = append(changes, c), append(at, e)
		if c.op == partFull {
			break
		}
		if c.op == partDrop || c.last == 0 || c.last > seq || i > p.chain {
			return nil, corrupt("part %q at entry %d of thread %q has a broken chain", p.name, seq, r.thread)
		}
		seq -= c.last
	}
	var data []byte
	for i := len(changes) - 1; i >= 0; i-- {
		c := changes[i]
		middle, err := r.middle(at[i], c)
		if err != nil {
			return nil, err
		}
		if c.op == partFull {
			data = append(make([]byte, 0, min(p.size, len(middle)+maxGrowth)), middle...)
		} else if data, err = delta.Apply(data, c.prefix, c.suffix, middle); err != nil {
			return nil, corrupt("part %q at entry %d of thread %q: %v", p.name, at[i].Seq, r.thread, err)
		}
		if len(data) != c.size {
			return nil, corrupt("part %q at entry %d of thread %q has %d bytes instead of %d", p.name, at[i].Seq, r.thread, len(data), c.size)
		}
	}
	return data, nil
}

func (r *logReader) change(seq uint64, part string) (*partChange, *readEntry, error) {
	e, err := r.entry(seq, true)
	if err != nil {
		return nil, nil, err
	}
	rec, _, err := e.checkpoint()
	if err != nil {
		return nil, nil, err
	}
	for i := range rec.parts.changes {
		if rec.parts.changes[i].name == part {
			return &rec.parts.changes[i], e, nil
		}
	}
	return nil, nil, corrupt("entry %d of thread %q does not change part %q", seq, r.thread, part)
}

// middle puts a change's pieces together, from its own body and from the step
// results it refers to.
func (r *logReader) middle(e *readEntry, c *partChange) ([]byte, error) {
	rec, idx, err := e.checkpoint()
	if err != nil {
		return nil, err
	}
	off := 0 // of this change's inline bytes in the body
	for i := range rec.parts.changes {
		if &rec.parts.changes[i] == c {
			break
		}
		for _, p := range rec.parts.changes[i].middle {
			if p.back == 0 {
				off += p.n
			}
		}
	}
	var out []byte
	for _, p := range c.middle {
		from, src := off, e
		rec := idx
		if p.back != 0 {
			if p.back >= e.Seq {
				return nil, corrupt("entry %d of thread %q refers to before its log", e.Seq, r.thread)
			}
			if src, err = r.entry(e.Seq-p.back, true); err != nil {
				return nil, err
			}
			from, rec = p.off, p.rec
		} else {
			off += p.n
		}
		if rec >= len(src.Bodies) || from+p.n > len(src.Bodies[rec]) {
			return nil, corrupt("the body of record %d of entry %d of thread %q is gone or too short", rec, src.Seq, r.thread)
		}
		if len(c.middle) == 1 {
			return src.Bodies[rec][from : from+p.n], nil
		}
		out = append(out, src.Bodies[rec][from:from+p.n]...)
	}
	return out, nil
}

// checkpointOf makes the public form; the metadata leaves the state.
func (b *rebuilt) checkpoint() (*Checkpoint, error) {
	c := &Checkpoint{Header: b.header, State: make(State, len(b.state))}
	for name, v := range b.state {
		if name == metaPart {
			m, err := Decode[map[string]string](v)
			if err != nil {
				return nil, corrupt("the metadata of checkpoint %s does not decode: %v", b.header.ID, err)
			}
			c.Metadata = m
			continue
		}
		own := Value{v.Codec, bytes.Clone(v.Data)}
		if !isReserved(name) {
			c.State[name] = own
			continue
		}
		if c.Program == nil {
			c.Program = State{}
		}
		c.Program[name] = own
	}
	return c, nil
}

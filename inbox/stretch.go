package inbox

import (
	"iter"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

const (
	stretchLength = 64   // headers of a log that are read at once
	aheadLength   = 8    // threads with more entries are not read ahead
	aheadWindow   = 256  // threads at most
	aheadEntries  = 1024 // of all threads of a window
)

// A stretch is a part of a log, as its headers say it.
type stretch struct {
	decisions []decisionRef  // newest first
	removals  []uint64       // entries with a record of a removal, newest first
	next      spot           // of the oldest entry
	to        uint64         // entries up to here are before it; 0: it is the beginning
	link      posthouse.Hash // of entry to, as the oldest entry says
	entries   int
}

// add adds the next older entry.
func (p *stretch) add(thread string, e *posthouse.Entry, at posthouse.Millis, records []posthouse.Record) {
	p.entries++
	p.to, p.link = e.Seq-1, e.Prev
	p.next = spot{at, thread, e.Seq, len(records)}
	for i := range records {
		if d := records[i].Decision; d != nil {
			p.decisions = append(p.decisions, decisionRef{spot{at, thread, e.Seq, i}, d})
		}
		if records[i].Removal != nil {
			p.removals = append(p.removals, e.Seq)
		}
	}
}

// stretch reads on in a thread's log, unless the memory has it.
func (m *merger) stretch(s *source) (*stretch, error) {
	if p := m.q.Memory.stretch(s.known, s.read); p != nil {
		return p, nil
	}
	p, err := m.readStretch(s)
	if err == nil {
		m.looked += p.entries
	}
	return p, err
}

func (m *merger) readStretch(s *source) (*stretch, error) {
	if s.read == 0 {
		m.looked++
	}
	p := m.linked(s)
	if p != nil {
		m.q.Memory.keepStretch(s.known, s.read, p)
		return p, nil
	}
	p = &stretch{}
	for e, err := range m.ledger.Log(m.ctx, s.thread, posthouse.Range{To: s.to, Reverse: true, Limit: stretchLength, Headers: true}) {
		if err != nil {
			return nil, err
		}
		p.add(s.thread, e.Entry, posthouse.Millis(e.At.UnixMilli()), e.Records)
	}
	return p, nil
}

// linked reads on in a log that the thread's summary, or the entry after, links to without a gap. It
// returns nil for any other: [ledger.Ledger.Log] knows more of those.
func (m *merger) linked(s *source) *stretch {
	p := &stretch{to: s.to, link: s.link}
	if s.link.IsZero() {
		return nil
	}
	for e, err := range m.headers(s) {
		if err != nil || e.Seq != p.to || e.Link() != p.link {
			return nil
		}
		e.Bodies = nil
		records, err := e.CheckRecords()
		if err != nil {
			return nil
		}
		p.add(s.thread, e, posthouse.Millis(e.Time().UnixMilli()), records)
	}
	if p.to > 0 && p.entries < stretchLength || p.to == 0 && !p.link.IsZero() {
		return nil
	}
	return p
}

// headers yields the next headers of a log, which may have been read ahead.
func (m *merger) headers(s *source) iter.Seq2[*posthouse.Entry, error] {
	if ahead := m.ahead[s.thread]; s.read == 0 && len(ahead) > 0 {
		delete(m.ahead, s.thread)
		return func(yield func(*posthouse.Entry, error) bool) {
			for _, e := range ahead {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	return m.ledger.Store().Read(m.ctx, s.thread, posthouse.Range{To: s.to, Reverse: true, Limit: stretchLength, Headers: true})
}

// readAhead reads the headers of short threads together, if the store can. An error is left to whoever
// reads the thread.
func (m *merger) readAhead(window []*posthouse.ThreadInfo) {
	clear(m.ahead)
	store, ok := m.ledger.Store().(lists.BulkReader)
	if !ok {
		return
	}
	var refs []posthouse.Ref
	for _, t := range window {
		if t.Tail.Seq > aheadLength || m.latest(t) <= m.since ||
			m.q.Coordination != "" && t.CoordinationName() != m.q.Coordination || m.q.Memory.knows(t.Link) || len(refs) > aheadEntries {
			continue
		}
		for seq := t.Tail.Seq; seq > 0; seq-- {
			refs = append(refs, posthouse.Ref{Thread: t.Thread, Seq: seq})
		}
	}
	if len(refs) == 0 {
		return
	}
	for e, err := range store.ReadAll(m.ctx, refs, true) {
		if err != nil {
			return
		}
		m.ahead[e.Thread] = append(m.ahead[e.Thread], e)
	}
}

// windows yields what seq does in slices: of a few first, since many lists need no more. The next one has
// the room of the one before.
func windows[T any](seq iter.Seq2[T, error]) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		room := make([]T, 0, 8)
		for v, err := range seq {
			if err != nil {
				if len(room) == 0 || yield(room, nil) {
					yield(nil, err)
				}
				return
			}
			room = append(room, v)
			if len(room) < cap(room) {
				continue
			}
			if !yield(room, nil) {
				return
			}
			most := min(4*cap(room), aheadWindow)
			clear(room)
			room = slices.Grow(room[:0], most)[:0:most]
		}
		if len(room) > 0 {
			yield(room, nil)
		}
	}
}

// clone returns a stretch that holds nothing of the entries that it was read from, nor the thread's name.
func (p *stretch) clone() *stretch {
	c := *p
	c.next.thread, c.decisions, c.removals = "", nil, slices.Clone(p.removals)
	for _, d := range p.decisions {
		d.thread = ""
		d.info = &posthouse.DecideInfo{Gate: cloneID(d.info.Gate), GateSeq: d.info.GateSeq, Verdict: d.info.Verdict, By: strings.Clone(d.info.By)}
		c.decisions = append(c.decisions, d)
	}
	return &c
}

// leaves reports whether a later removal lists what a gate was read from. A removal is done after it is on
// record, so that may be there still, and no entry says when it has gone. It is true of all gates if a list cannot be read.
func (m *merger) leaves(s *source, g *posthouse.Gate) bool {
	for ; len(s.removals) > 0; s.removals = s.removals[1:] {
		list, err := m.ledger.Core().Logs.Reader(m.ctx, s.thread).RemovedList(s.removals[0])
		if err != nil {
			return true
		}
		if s.leaving == nil {
			s.leaving = map[uint64]bool{}
		}
		for _, b := range list.Bodies {
			s.leaving[b.Seq] = true
		}
	}
	return s.leaving[g.Seq]
}

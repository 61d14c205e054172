package inbox

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A spot is where a decision stands among all: by its time, newest first, then by its place in the log.
type spot struct {
	at     posthouse.Millis
	thread string
	seq    uint64
	record int // of the entry
}

// compare orders newest first.
func (s spot) compare(o spot) int {
	return cmp.Or(cmp.Compare(o.at, s.at), strings.Compare(s.thread, o.thread), cmp.Compare(o.seq, s.seq), cmp.Compare(o.record, s.record))
}

func (s spot) cursor() string { return fmt.Sprintf("%d.%d.%d.%s", s.at, s.seq, s.record, s.thread) }

func readSpot(text string) (s spot, err error) {
	parts := strings.SplitN(text, ".", 4)
	if len(parts) != 4 || posthouse.ValidateName("thread", parts[3]) != nil {
		return s, notACursor()
	}
	if n, err := fmt.Sscanf(strings.Join(parts[:3], " "), "%d %d %d", &s.at, &s.seq, &s.record); n != 3 || err != nil {
		return s, notACursor()
	}
	s.thread = parts[3]
	if s.cursor() != text {
		return s, notACursor()
	}
	return s, nil
}

// A decisionRef is a decision in a log, as its header says it.
type decisionRef struct {
	spot
	info *posthouse.DecideInfo
}

// A source is a thread with its decisions, read from the newest on.
type source struct {
	thread string
	to     uint64         // entries up to here are unread; 0: all were read
	link   posthouse.Hash // of entry to, as what refers to it says; zero: unknown
	have   []decisionRef  // that were read
	next   spot           // of the first of have, or of the newest entry that is unread
	known  *cachedThread  // of the thread in a memory; nil: nothing is kept
	read   int            // how many stretches were read

	removals []uint64        // entries that record removals, with lists that were not read
	leaving  map[uint64]bool // entries with bodies that the other lists have
}

type sources []*source

func (h sources) Len() int           { return len(h) }
func (h sources) Less(i, j int) bool { return h[i].next.compare(h[j].next) < 0 }
func (h sources) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *sources) Push(x any)        { *h = append(*h, x.(*source)) }
func (h *sources) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// A merger makes a page of decisions from the logs of all threads.
type merger struct {
	page
	ctx    context.Context
	ledger *ledger.Ledger
	after  *spot // nil: from the newest
	since  posthouse.Millis
	open   sources
	ahead  map[string][]*posthouse.Entry // headers of threads that come next, from their ends
	last   spot                          // up to which everything was looked at
	moved  bool                          // last is after the cursor
}

func listDecided(ctx context.Context, l *ledger.Ledger, q *Query, each func(*Item) bool) (*Page, error) {
	m := &merger{page: page{q: q, each: each}, ctx: ctx, ledger: l, ahead: map[string][]*posthouse.Entry{}}
	if !q.Since.IsZero() {
		m.since = posthouse.Millis(q.Since.UnixMilli())
	}
	if q.After != "" {
		after, err := readSpot(q.After)
		if err != nil {
			return nil, err
		}
		m.after, m.last = &after, after
	}
	for window, err := range windows(m.threads()) {
		if err != nil {
			return nil, err
		}
		m.readAhead(window)
		for _, t := range window {
			more, err := m.thread(t)
			if err != nil || !more {
				return &m.Page, err
			}
		}
	}
	_, err := m.until(0)
	return &m.Page, err
}

// thread goes on to the next thread, and reports whether those that follow may have what the page has room for.
func (m *merger) thread(t *posthouse.ThreadInfo) (more bool, err error) {
	// No thread from here on has an entry after the minute of its newest one.
	more, err = m.until(m.latest(t))
	if err != nil || !more || m.latest(t) <= m.since {
		return false, err
	}
	if m.q.Coordination != "" && t.CoordinationName() != m.q.Coordination {
		return true, nil
	}
	return true, m.begin(t)
}

// latest returns a time before which all entries of a thread are.
func (m *merger) latest(t *posthouse.ThreadInfo) posthouse.Millis { return t.Minute() + 60_000 }

// threads yields the threads that may have decisions, by their newest entries. Released ones that have
// not begun again are among them, and those of which a released generation may be the program's.
func (m *merger) threads() iter.Seq2[*posthouse.ThreadInfo, error] {
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		for t, err := range m.ledger.Store().Threads(m.ctx, posthouse.ThreadQuery{Thread: m.q.Thread, Newest: true}) {
			if err == nil && t.Releases == 0 && (t.Gone() || m.q.Program != "" && t.Graph != m.q.Program) {
				continue
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}

// begin opens a thread's log where the list goes on.
func (m *merger) begin(t *posthouse.ThreadInfo) error {
	s := &source{thread: t.Thread, to: t.Tail.Seq, link: t.Link}
	if m.after != nil && m.latest(t) > m.after.at {
		to, err := m.seek(t)
		if err != nil {
			return err
		}
		if to != s.to {
			s.to, s.link = to, posthouse.Hash{}
			return m.fill(s)
		}
	}
	s.known = m.q.Memory.log(t.Link)
	return m.fill(s)
}

// seek returns the entry of a thread from which on, backwards, there may be decisions after the cursor.
func (m *merger) seek(t *posthouse.ThreadInfo) (uint64, error) {
	low, high := uint64(0), t.Tail.Seq // what is at low or before is old enough; what is after high is not
	for high-low > stretchLength {
		middle := low + (high-low)/2
		m.looked++
		found := false
		for e, err := range m.ledger.Log(m.ctx, t.Thread, posthouse.Range{From: middle, To: high, Limit: 1, Headers: true}) {
			if unread(err) {
				return high, nil // as fill will say
			}
			if err != nil {
				return 0, err
			}
			found = true
			if posthouse.Millis(e.At.UnixMilli()) > m.after.at {
				high = e.Seq - 1
			} else {
				low = e.Seq
			}
		}
		if !found {
			high = middle - 1
		}
	}
	return high, nil
}

// fill reads on in a thread's log until it has a decision, and puts it among the open sources unless
// its log is over.
func (m *merger) fill(s *source) error {
	if s.to == 0 {
		return nil
	}
	p, err := m.stretch(s)
	if unread(err) {
		s.to = 0
		m.add(Item{&posthouse.Gate{Thread: s.thread}, err})
		return nil
	}
	if err != nil {
		return err
	}
	s.read++
	s.to, s.link, s.next = p.to, p.link, p.next
	s.removals = append(s.removals, p.removals...)
	s.next.thread = s.thread
	for _, d := range p.decisions {
		d.thread = s.thread
		if m.q.has(stateOf(d.info.Verdict)) && (m.after == nil || d.compare(*m.after) > 0) {
			s.have = append(s.have, d)
		}
	}
	if len(s.have) > 0 {
		s.next = s.have[0].spot
	}
	if len(s.have) > 0 || s.to > 0 {
		heap.Push(&m.open, s)
	}
	return nil
}

// until lists what was decided at a time or later, and reports whether the page has room.
func (m *merger) until(bound posthouse.Millis) (more bool, err error) {
	for len(m.open) > 0 && m.open[0].next.at >= bound {
		if m.open[0].next.at < m.since {
			return false, nil
		}
		if m.full() && m.moved {
			m.Next = m.last.cursor()
			return false, nil
		}
		s := heap.Pop(&m.open).(*source)
		m.last, m.moved = s.next, true
		if len(s.have) == 0 {
			if err := m.fill(s); err != nil {
				return false, err
			}
			continue
		}
		d := s.have[0]
		s.have = s.have[1:]
		if err := m.take(s, d); err != nil {
			return false, err
		}
		switch {
		case len(s.have) > 0:
			s.next = s.have[0].spot
			heap.Push(&m.open, s)
		default:
			if err := m.fill(s); err != nil {
				return false, err
			}
		}
	}
	if m.full() && m.moved {
		m.Next = m.last.cursor()
		return false, nil
	}
	return true, nil
}

// take adds the gate of a decision to the page if it matches.
func (m *merger) take(s *source, d decisionRef) error {
	if m.q.Decider != "" && d.info.By != m.q.Decider && d.info.Verdict != posthouse.Approve && d.info.Verdict != posthouse.Reject {
		return nil // only these are voted for
	}
	m.looked++
	g, err := m.gate(s, d)
	switch {
	case gone(err):
		return nil
	case unread(err):
		if !m.q.narrow() && m.q.Kind == "" && m.q.Assignee == "" {
			m.add(Item{&posthouse.Gate{ID: d.info.Gate, Thread: d.thread}, err})
		}
		return nil
	case err != nil:
		return err
	case !m.q.matches(g.gate, m.ledger.Now()):
		return nil
	case m.q.Program != "":
		asked, err := m.program(s, g)
		if gone(err) || err == nil && asked != m.q.Program {
			return nil
		}
		if err != nil {
			return err
		}
	}
	m.add(Item{g.gate, nil})
	return nil
}

// gate reads the gate of a decision, unless the memory has it.
func (m *merger) gate(s *source, d decisionRef) (*decidedGate, error) {
	if m.q.bare {
		if g := m.q.Memory.settled(s.known, d.spot); g != nil {
			return g, nil
		}
	}
	g, err := m.ledger.Gate(m.ctx, d.info.Gate)
	if err != nil {
		return nil, err
	}
	if !m.q.bare {
		return &decidedGate{gate: g}, nil
	}
	one := &decidedGate{gate: bare(g)}
	if s.known != nil && g.Thread == d.thread && g.Decision != nil && g.Decision.Seq == d.seq && !m.leaves(s, g) {
		m.q.Memory.keepSettled(s.known, d.spot, one)
	}
	return one, nil
}

// program returns the program that asked.
func (m *merger) program(s *source, g *decidedGate) (string, error) {
	if name, ok := m.q.Memory.program(g); ok {
		return name, nil
	}
	h, err := m.ledger.GetHeader(m.ctx, g.gate.Checkpoint)
	if err != nil {
		return "", err
	}
	if m.q.bare && s.known != nil {
		m.q.Memory.keepProgram(s.known, g, h.Graph)
	}
	return h.Graph, nil
}

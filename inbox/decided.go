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

// An aDecision is one in a log, as its header says it.
type aDecision struct {
	spot
	info *posthouse.DecideInfo
}

// chunk is how many headers of a log are read at once.
const chunk = 64

// A source is a thread with its decisions, read from the newest on.
type source struct {
	thread string
	to     uint64      // entries up to here are unread; 0: all were read
	have   []aDecision // that were read
	next   spot        // of the first of have, or of the newest entry that is unread
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
	last   spot // up to which everything was looked at
	moved  bool // last is after the cursor
}

func listDecided(ctx context.Context, l *ledger.Ledger, q *Query, each func(*Item) bool) (*Page, error) {
	m := &merger{page: page{q: q, each: each}, ctx: ctx, ledger: l}
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
	for t, err := range m.threads() {
		if err != nil {
			return nil, err
		}
		// No thread from here on has an entry after the minute of its newest one.
		more, err := m.until(t.Minute() + 60_000)
		if err != nil || !more {
			return &m.Page, err
		}
		if t.Minute()+60_000 <= m.since {
			return &m.Page, nil
		}
		if q.Coordination != "" && t.CoordinationName() != q.Coordination {
			continue
		}
		if err := m.begin(t); err != nil {
			return nil, err
		}
	}
	_, err := m.until(0)
	return &m.Page, err
}

// threads yields the threads that may have decisions, by their newest entries. Released ones that have
// not begun again are among them.
func (m *merger) threads() iter.Seq2[*posthouse.ThreadInfo, error] {
	q := posthouse.ThreadQuery{Thread: m.q.Thread, Graph: m.q.Program, Newest: true}
	ended := q
	ended.Released, ended.Graph = true, "" // a generation that was released may be another program's
	return func(yield func(*posthouse.ThreadInfo, error) bool) {
		next, stop := iter.Pull2(m.ledger.Threads(m.ctx, ended))
		defer stop()
		released, err, more := next()
		seen := map[string]bool{}
		for t, failed := range m.ledger.Threads(m.ctx, q) {
			for more && err == nil && failed == nil && released.Minute() > t.Minute() {
				if !seen[released.Thread] && !yield(released, nil) {
					return
				}
				seen[released.Thread] = true
				released, err, more = next()
			}
			if failed == nil && seen[t.Thread] {
				continue
			}
			if failed == nil && t.Releases > 0 {
				seen[t.Thread] = true
			}
			if !yield(t, failed) || failed != nil {
				return
			}
		}
		for ; more; released, err, more = next() {
			if err == nil && seen[released.Thread] {
				continue
			}
			if !yield(released, err) || err != nil {
				return
			}
		}
	}
}

// begin opens a thread's log where the list goes on.
func (m *merger) begin(t *posthouse.ThreadInfo) error {
	m.looked++
	s := &source{thread: t.Thread, to: t.Tail.Seq}
	if m.after != nil && t.Minute()+60_000 > m.after.at {
		to, err := m.seek(t)
		if err != nil {
			return err
		}
		s.to = to
	}
	return m.fill(s)
}

// seek returns the entry of a thread from which on, backwards, there may be decisions after the cursor.
func (m *merger) seek(t *posthouse.ThreadInfo) (uint64, error) {
	low, high := uint64(0), t.Tail.Seq // what is at low or before is old enough; what is after high is not
	for high-low > chunk {
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
	last := posthouse.Range{To: s.to, Reverse: true, Limit: chunk, Headers: true}
	s.to = 0
	for e, err := range m.ledger.Log(m.ctx, s.thread, last) {
		if unread(err) {
			m.add(Item{&posthouse.Gate{Thread: s.thread}, err})
			return nil
		}
		if err != nil {
			return err
		}
		m.looked++
		s.to = e.Seq - 1
		s.next = spot{posthouse.Millis(e.At.UnixMilli()), s.thread, e.Seq, len(e.Records)}
		for i := range e.Records {
			d := aDecision{spot{s.next.at, s.thread, e.Seq, i}, e.Records[i].Decision}
			if d.info == nil || !m.q.has(stateOf(d.info.Verdict)) || m.after != nil && d.compare(*m.after) <= 0 {
				continue
			}
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
		if err := m.take(d); err != nil {
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
func (m *merger) take(d aDecision) error {
	if m.q.Decider != "" && d.info.By != m.q.Decider && d.info.Verdict != posthouse.Approve && d.info.Verdict != posthouse.Reject {
		return nil // only these are voted for
	}
	m.looked++
	g, err := m.ledger.Gate(m.ctx, d.info.Gate)
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
	case !m.q.matches(g, m.ledger.Now()):
		return nil
	case m.q.Program != "":
		asked, err := m.ledger.GetHeader(m.ctx, g.Checkpoint)
		if gone(err) || err == nil && asked.Graph != m.q.Program {
			return nil
		}
		if err != nil {
			return err
		}
	}
	m.add(Item{g, nil})
	return nil
}

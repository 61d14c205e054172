package inbox

import (
	"container/heap"
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// A place is where a gate stands among those with deadlines.
type place struct {
	due posthouse.Millis // 0: no deadline
	id  posthouse.ID
}

// before orders by deadline, those without a deadline last, and then by id.
func (p place) before(o place) bool {
	if (p.due == 0) != (o.due == 0) {
		return o.due == 0
	}
	if p.due != o.due {
		return p.due < o.due
	}
	return p.id < o.id
}

func (p place) cursor() string { return strconv.FormatInt(int64(p.due), 10) + "." + string(p.id) }

func readPlace(s string) (place, error) {
	digits, id, ok := strings.Cut(s, ".")
	due, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || due < 0 || posthouse.ID(id).Validate() != nil {
		return place{}, notACursor()
	}
	return place{posthouse.Millis(due), posthouse.ID(id)}, nil
}

// A dated is an open gate with a deadline.
type dated struct {
	place
	thread string
}

type datedHeap []dated

func (h datedHeap) Len() int           { return len(h) }
func (h datedHeap) Less(i, j int) bool { return h[i].before(h[j].place) }
func (h datedHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *datedHeap) Push(x any)        { *h = append(*h, x.(dated)) }
func (h *datedHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

// A byDeadline makes a page of open gates by their deadlines.
type byDeadline struct {
	page
	ledger *ledger.Ledger
	after  place // the zero place: from the first
	last   place // that was looked at
}

func listByDeadline(ctx context.Context, l *ledger.Ledger, q *Query, each func(*Item) bool) (*Page, error) {
	b := &byDeadline{page: page{q: q, each: each}, ledger: l}
	if q.After != "" {
		after, err := readPlace(q.After)
		if err != nil {
			return nil, err
		}
		b.after = after
	}
	more, err := true, error(nil)
	if b.after == (place{}) || b.after.due > 0 {
		more, err = b.withDeadline(ctx)
	}
	if err == nil && more {
		err = b.withoutDeadline(ctx)
	}
	if err != nil {
		return nil, err
	}
	return &b.Page, nil
}

// withDeadline lists gates by the threads that are due first. A thread is due no later than any of its
// gates, so a gate comes once all threads that are left are due after it. It reports whether the page
// has room.
func (b *byDeadline) withDeadline(ctx context.Context) (more bool, err error) {
	var ready datedHeap
	due := posthouse.ThreadQuery{Thread: b.q.Thread, Graph: b.q.Program, DueBefore: math.MaxInt64}
	scanned := 0
	for t, err := range b.ledger.Threads(ctx, due) {
		if err != nil {
			return false, err
		}
		if scanned++; scanned > b.q.Scan { // there is no place among those due to go on from
			b.More = true
			return false, nil
		}
		for len(ready) > 0 && ready[0].due < t.Due {
			if more, err := b.take(ctx, heap.Pop(&ready).(dated)); !more || err != nil {
				return false, err
			}
		}
		if b.q.Coordination != "" && t.CoordinationName() != b.q.Coordination {
			continue
		}
		for i := range t.Waiting {
			w := &t.Waiting[i]
			if w.ExpiresAt.IsZero() || !b.ofKind(w) {
				continue
			}
			at := place{posthouse.Millis(w.ExpiresAt.UnixMilli()), w.ID}
			if b.after == (place{}) || b.after.before(at) {
				heap.Push(&ready, dated{at, t.Thread})
			}
		}
	}
	for len(ready) > 0 {
		if more, err := b.take(ctx, heap.Pop(&ready).(dated)); !more || err != nil {
			return false, err
		}
	}
	return true, nil
}

// ofKind reports whether an open gate may be on the list, as far as its thread's summary shows.
func (b *byDeadline) ofKind(w *posthouse.WaitingGate) bool {
	if b.q.Kind != "" {
		return w.Kind == b.q.Kind
	}
	return forPeople(w.Kind)
}

// take adds a gate to the page if it matches, and reports whether there is room for more.
func (b *byDeadline) take(ctx context.Context, d dated) (more bool, err error) {
	if b.full() {
		b.Next = b.last.cursor()
		return false, nil
	}
	b.looked++
	b.last = d.place
	g, err := b.ledger.Gate(ctx, d.id)
	switch {
	case gone(err):
		return true, nil
	case unread(err):
		if !b.q.narrow() {
			g = &posthouse.Gate{ID: d.id, Thread: d.thread}
			b.add(Item{g, err})
		}
		return true, nil
	case err != nil:
		return false, err
	case b.q.matches(g, b.ledger.Now()):
		b.add(Item{g, nil})
	}
	return true, nil
}

// withoutDeadline goes on with the gates that wait for ever, the oldest first.
func (b *byDeadline) withoutDeadline(ctx context.Context) error {
	q := *b.q
	q.Order, q.After = Oldest, ""
	if b.after.due == 0 {
		q.After = string(b.after.id)
	}
	for {
		if b.full() {
			b.Next = b.last.cursor()
			return nil
		}
		q.Limit, q.Look = 100, b.q.Look-b.looked
		found, err := listOpen(ctx, b.ledger, &q, nil)
		if err != nil {
			return err
		}
		for _, item := range found.Items {
			if !item.Gate.ExpiresAt.IsZero() {
				continue
			}
			if b.full() {
				b.Next = b.last.cursor()
				return nil
			}
			b.add(item)
			b.last = place{0, item.Gate.ID}
		}
		b.looked += max(len(found.Items), 1)
		if found.Next == "" {
			return nil
		}
		q.After, b.last = found.Next, place{0, posthouse.ID(found.Next)}
	}
}

func gone(err error) bool { return errors.Is(err, posthouse.ErrNotFound) }

func unread(err error) bool {
	return errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrSealed)
}

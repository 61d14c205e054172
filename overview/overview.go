package overview

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/story"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
)

// MaxNow bounds the line, in bytes. A longer one is cut.
const MaxNow = 200

// MaxLook bounds how many entries of a thread are read to tell which of its effects have an unknown
// outcome. An effect that began before these counts as unknown unless a run has the thread.
const MaxLook = 2000

// A Face is what a list shows of a thread beside its summary.
type Face struct {
	UpdatedAt time.Time // of the last entry, exactly

	// Now is the intent of the oldest question that waits for people. Without a question it is the
	// nodes that run next; of a thread that failed it is the error; of one that waits for a time, a
	// signal, a worker or another thread, for which and until when, and of a task that is paused, by whom; else it is the program's newest
	// note with a line. It has at most [MaxNow] bytes, and is empty where nothing of that is on record.
	Now string

	Unknown int // effects of the current generation with an unknown outcome
}

// Of reads the face of a thread. It reads at most four entries, and more only of a thread with
// effects that have no result ([posthouse.ThreadInfo.Begun]). A question or note that cannot be read
// ([posthouse.ErrSealed], [posthouse.ErrCorrupt]) gives no line of its own; the next rule applies.
func Of(ctx context.Context, l *ledger.Ledger, t *posthouse.ThreadInfo) (*Face, error) {
	return newReader(ctx, l, t).face()
}

type reader struct {
	ctx     context.Context
	l       *ledger.Ledger
	t       *posthouse.ThreadInfo
	entries *threadlog.Reader // nil until log is called
	updated time.Time
	topped  bool              // the entries of tops were read
	head    *posthouse.Header // of the branch that Now is about; nil if no branch runs or failed
}

func newReader(ctx context.Context, l *ledger.Ledger, t *posthouse.ThreadInfo) *reader {
	return &reader{ctx: ctx, l: l, t: t, updated: time.UnixMilli(int64(t.Updated)).UTC()}
}

// log keeps the entries that were read with their bodies.
func (r *reader) log() *threadlog.Reader {
	if r.entries == nil {
		r.entries = r.l.Core().Logs.Reader(r.ctx, r.t.Thread)
	}
	return r.entries
}

func (r *reader) face() (*Face, error) {
	f := &Face{}
	if r.t.Tail.Seq > 0 {
		for _, read := range []func(*Face) error{r.headers, r.question, r.running, r.wait, r.note, r.effects} {
			if err := read(f); err != nil {
				return nil, err
			}
		}
	}
	f.UpdatedAt = r.updated
	if len(f.Now) > MaxNow {
		f.Now = text.Cut(f.Now, MaxNow)
	}
	return f, nil
}

// headers reads when the thread last moved, and the head that may have something to say.
func (r *reader) headers(*Face) error {
	if r.topped {
		return nil
	}
	for e, err := range r.l.Store().Read(r.ctx, r.t.Thread, posthouse.Range{Seqs: r.tops(), Headers: true}) {
		if err == nil {
			err = r.top(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tops returns the entries that top takes.
func (r *reader) tops() []uint64 {
	if r.t.Tail.Seq == 0 {
		return nil
	}
	seqs := []uint64{r.t.Tail.Seq}
	if b := branchOf(r.t); b != nil && b.Seq != r.t.Tail.Seq {
		seqs = append(seqs, b.Seq)
	}
	return seqs
}

func (r *reader) top(e *posthouse.Entry) error {
	if e.Seq == r.t.Tail.Seq {
		r.updated = e.Time().UTC()
	}
	b := branchOf(r.t)
	if b == nil || e.Seq != b.Seq {
		return nil
	}
	heads, err := e.Checkpoints()
	if err != nil {
		return unlessUnread(err)
	}
	for i := range heads {
		if heads[i].ID == b.Head {
			r.head = &heads[i]
		}
	}
	return nil
}

// telling returns the entry that says what a thread is about, if neither the summary nor the head does; else 0.
func (r *reader) telling() uint64 {
	if w := r.asked(); w != nil {
		return w.Seq
	}
	if r.head != nil {
		return 0
	}
	if w := r.waits(); w != nil {
		return w.Seq
	}
	return r.t.Noted
}

// branchOf returns the branch that runs or failed, the newest of several; those that run come first.
func branchOf(t *posthouse.ThreadInfo) (found *posthouse.BranchHead) {
	rank := func(s posthouse.Status) int {
		switch {
		case s.Runnable():
			return 2
		case s == posthouse.StatusFailed:
			return 1
		}
		return 0
	}
	for i := range t.Branches {
		b := &t.Branches[i]
		if rank(b.Status) > 0 && (found == nil || cmp.Or(cmp.Compare(rank(b.Status), rank(found.Status)), cmp.Compare(b.Seq, found.Seq)) > 0) {
			found = b
		}
	}
	return found
}

// asked returns the oldest question to people, or nil.
func (r *reader) asked() *posthouse.WaitingGate {
	i := slices.IndexFunc(r.t.Waiting, func(w posthouse.WaitingGate) bool { return posthouse.InInbox(w.Kind) })
	if i < 0 {
		return nil
	}
	return &r.t.Waiting[i]
}

// question takes the oldest question to people.
func (r *reader) question(f *Face) error {
	w := r.asked()
	if w == nil {
		return nil
	}
	g, err := r.log().GateAt(w.ID, w.Seq)
	if err != nil {
		return unlessUnread(err)
	}
	f.Now = gate.Intent(g)
	return nil
}

// running takes the nodes that run next, or the error.
func (r *reader) running(f *Face) error {
	switch {
	case f.Now != "" || r.head == nil:
	case r.head.Status == posthouse.StatusFailed:
		f.Now = firstLine(r.head.Error)
	default:
		f.Now = strings.Join(r.head.Next, ", ")
	}
	return nil
}

// note takes the newest line of the program's notes.
func (r *reader) note(f *Face) error {
	if f.Now != "" || r.t.Noted == 0 {
		return nil
	}
	e, err := r.log().Entry(r.t.Noted, true)
	if err != nil {
		return unlessUnread(err)
	}
	for i := range e.Recs {
		if n := e.Recs[i].Note; n == nil || !n.Line || len(e.Bodies) <= i || len(e.Bodies[i]) == 0 {
			continue
		}
		var s posthouse.Story
		if err := story.Read(&e.Entry, e.Bodies[i], &s); err != nil {
			return unlessUnread(err)
		}
		f.Now = firstLine(story.Line(s.Notes))
	}
	return nil
}

// effects counts the effects with an outcome that is not known.
func (r *reader) effects(f *Face) error {
	if len(r.t.Begun) == 0 {
		return nil
	}
	from := r.t.Begun[0].Seq - 1
	if r.t.Tail.Seq > MaxLook && from < r.t.Tail.Seq-MaxLook {
		from = r.t.Tail.Seq - MaxLook
		for _, b := range r.t.Begun {
			if b.Seq <= from && !r.t.Lease.Held {
				f.Unknown++
			}
		}
	}
	uses, err := ledger.EffectsAfter(r.ctx, r.l, r.t.Thread, from)
	if err != nil {
		return unlessUnread(err)
	}
	for i := range uses {
		if uses[i].Status == grants.Unknown && uses[i].First > from {
			f.Unknown++
		}
	}
	return nil
}

func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if text := strings.TrimSpace(line); text != "" {
			return text
		}
	}
	return ""
}

// unlessUnread returns nil for what cannot be read, or is gone: a list shows the thread without it.
func unlessUnread(err error) error {
	if errors.Is(err, posthouse.ErrSealed) || errors.Is(err, posthouse.ErrCorrupt) || errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	return err
}

// MaxCount is how many threads of a status a server counts.
const MaxCount = 1000

// Narrow adds to a query what people type: a label as name=value, and a text to search for. Either may
// be empty. [posthouse.ErrInvalid] names the field label or q.
func Narrow(q *posthouse.ThreadQuery, label, search string) (err error) {
	if label != "" {
		q.Label, q.LabelValue, err = inbox.SplitLabel(label)
	}
	if err == nil && len(search) > posthouse.MaxID {
		err = posthouse.Invalid("q", "has %d bytes; the limit is %d", len(search), posthouse.MaxID)
	}
	q.Text = search
	return err
}

// Count counts the threads that a query selects by their status, each up to most: a figure of most
// stands for that many or more. Threads without a status are not counted. It ignores the order, cursor
// and limit of q, which is for threads, not gates.
func Count(ctx context.Context, l *ledger.Ledger, q posthouse.ThreadQuery, most int) (map[string]int, error) {
	counts := map[string]int{}
	for _, s := range []posthouse.Status{
		posthouse.StatusRunning, posthouse.StatusWaiting, posthouse.StatusReady, posthouse.StatusInterrupted,
		posthouse.StatusDone, posthouse.StatusFailed, posthouse.StatusCancelled,
	} {
		if q.Status != "" && q.Status != s {
			continue
		}
		one := q
		one.Status, one.Newest, one.Descending, one.After, one.Limit = s, true, false, "", most
		for _, err := range l.Threads(ctx, one) {
			if err != nil {
				return nil, err
			}
			counts[string(s)]++
		}
	}
	return counts, nil
}

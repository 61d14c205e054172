package posthouse

import (
	"context"
	"fmt"
	"io"
	"iter"
)

// A Store keeps threads: an append-only log each, an index from ids to places,
// one summary a thread, and slots. It knows nothing of graphs, deltas or
// decisions; what is the same for all stores is the [ledger.Ledger]'s. Package
// storetest proves an implementation in one line.
//
// All methods may be called at once from many goroutines. Slices handed in
// belong to the caller again when the call returns, slices handed out to the
// caller. An iterator that fails yields one error as its last element. Errors
// are [Error]s with the codes named below; a write whose outcome is not known
// (a timeout, a lost connection) is [ErrUnknown]; after a failed commit or
// fsync every later write is [ErrReadOnly] until the store is opened anew.
type Store interface {
	// Append adds one entry to one thread: the entry, the index and the summary
	// appear together or not at all, and are durable when it returns nil.
	//
	// It fails with ErrConflict, carrying the tail in Error.Tail, unless the log
	// ends at b.After. An entry that is already there (same thread, sequence
	// and hash) is success: so an unknown outcome is settled by asking again.
	// It fails with ErrExists if an id in b.IDs is already indexed to a place
	// in another thread, or in this one and b.IDs does not say Replace.
	Append(ctx context.Context, b *Batch) error

	// Read yields entries of one thread by sequence. An unknown thread is
	// empty, not an error.
	Read(ctx context.Context, thread string, r Range) iter.Seq2[*Entry, error]

	// Find returns the newest place of a checkpoint, gate or signal id. ErrNotFound.
	Find(ctx context.Context, id ID) (Ref, error)

	// List yields the headers of indexed checkpoints that match, across threads
	// by order key, within one thread by sequence. An id that was replaced
	// appears once, as its newest revision.
	List(ctx context.Context, q Query) iter.Seq2[*Header, error]

	// Threads yields summaries that match, by thread name, downwards where
	// q.Descending is set, or by due time when q.DueBefore is. With q.Gates it
	// yields one for each open gate that matches, by the gates' ids as bytes:
	// the thread's summary with that gate alone in Waiting. What it reads for a
	// page of these must not grow with the number of gates that are open.
	Threads(ctx context.Context, q ThreadQuery) iter.Seq2[*ThreadInfo, error]

	// Slot reads, writes or deletes one overwriteable value beside the log. A
	// write is durable, but ordered with nothing.
	Slot(ctx context.Context, key SlotKey, op SlotOp) (Slot, error)

	// Remove takes bytes away for good; what it takes was attested by a record
	// before. Removing what is gone is no error.
	Remove(ctx context.Context, r Removal) (Removed, error)

	io.Closer
}

// A Batch is one append.
type Batch struct {
	After  Position    // where the log must end; the zero Position for a thread that has no log
	Entry  *Entry      // its Seq is After.Seq+1
	IDs    []IndexedID // what the entry adds to the index
	Drop   []ID        // ids that leave the index; one that has moved to another thread stays there
	Thread *ThreadInfo // the summary once the entry is appended

	// Copy says that the entry was written to another store and is put here as
	// it is there: bodies may be nil that its header has, having been removed,
	// and the entry may have any Seq beyond After, where the other log has none
	// in between.
	Copy bool
}

// An IndexedID is an id that an entry brings.
type IndexedID struct {
	ID      ID
	Order   OrderKey
	Header  *Header // set for a checkpoint: its header, to filter by
	Replace bool    // the id may already have a place in this thread; the new one counts
}

// A Ref is a place in a log.
type Ref struct {
	Thread string
	Seq    uint64
}

// A Range selects entries of a thread.
type Range struct {
	From    uint64   // first sequence number, inclusive
	To      uint64   // last, inclusive; 0: to the tail
	Seqs    []uint64 // if not nil: these entries, in this order, and nothing else; those absent are passed over
	Reverse bool     // newest first
	Limit   int      // 0: all
	Headers bool     // without bodies
}

// A Query selects checkpoints. The zero Query selects all; set fields are
// joined by "and". Names are compared byte by byte.
type Query struct {
	Thread       string
	Coordination string
	Run          string
	Graph        string
	Node         string // as the checkpoint's is written, or one of several that + joins in it, by its name or as that is written ([EscapeName])
	Agent        string
	Kind         string
	Branch       string
	Status       Status
	Generation   uint32 // of its thread. To the Ledger 0 is the current one where Thread is set, else any; to a store it is any
	From, To     uint64 // sequence numbers in Thread, both inclusive; 0: open
	Label        string // a label's name
	LabelValue   string // and its value; only with Label
	Since, Until Millis // of CreatedAt, both inclusive; 0: open

	// Open leaves only heads of branches that wait or have open gates, by the
	// threads' summaries: a checkpoint's own status is that it was made with. The
	// Ledger looks; a store is never asked.
	Open bool

	Descending bool   // newest first
	After      string // go on behind this cursor: [Header.Cursor] of the last one seen
	Limit      int    // 0: all
}

// Millis is a time in Unix milliseconds.
type Millis int64

// Match reports whether the header passes the filters of q, the cursor and the
// limit aside.
func (q *Query) Match(h *Header) bool {
	eq := func(want, have string) bool { return want == "" || want == have }
	ms := Millis(h.CreatedAt.UnixMilli())
	if q.Label != "" {
		if v, ok := h.Labels[q.Label]; !ok || v != q.LabelValue {
			return false
		}
	}
	return eq(q.Thread, h.Thread) && eq(q.Coordination, h.Coordination) && eq(q.Run, h.Run) &&
		eq(q.Graph, h.Graph) && isNode(q.Node, h.Node) && eq(q.Agent, h.Agent) && eq(q.Kind, h.Kind) &&
		eq(q.Branch, h.Branch) && (q.Status == "" || q.Status == h.Status) &&
		(q.Generation == 0 || q.Generation == h.Generation) && h.Seq >= q.From && (q.To == 0 || h.Seq <= q.To) &&
		(q.Since == 0 || ms >= q.Since) && (q.Until == 0 || ms <= q.Until)
}

// A ThreadQuery selects threads.
type ThreadQuery struct {
	Thread    string // exactly this one
	Prefix    string // names that start so
	Graph     string
	Status    Status
	Waiting   bool   // with open gates
	Runnable  bool   // with a branch that can run, or is to be cancelled
	Leased    bool   // with a lease that was not given back
	Released  bool   // with releases, also those that have not begun anew since
	DueBefore Millis // with a gate or timer due at or before; ordered by due time

	Gates    bool   // open gates one by one instead of threads, in the order of their ids; not with DueBefore
	GateKind string // with Gates: of this kind
	People   bool   // with Gates: that people decide, and not in a session
	Person   string // with Gates: that this person may decide as far as summaries tell ([AudienceInfo])

	Descending bool   // the last name or id first; not with DueBefore
	After      string // go on behind this thread's name, or with Gates this gate's id, in that order; not with DueBefore
	Limit      int    // 0: all
}

// Behind reports whether a thread, or with Gates an open gate, comes after the
// cursor.
func (q *ThreadQuery) Behind(name string) bool {
	switch {
	case q.After == "":
		return true
	case q.Descending:
		return name < q.After
	}
	return name > q.After
}

// Match reports whether the summary passes the filters of q.
func (q *ThreadQuery) Match(t *ThreadInfo) bool {
	return (q.Thread == "" || q.Thread == t.Thread) &&
		(len(t.Thread) >= len(q.Prefix) && t.Thread[:len(q.Prefix)] == q.Prefix) &&
		(q.Graph == "" || q.Graph == t.Graph) &&
		(q.Status == "" || q.Status == t.Status) &&
		(!q.Waiting && !q.Gates || len(t.Waiting) > 0) &&
		(!q.Runnable || t.Runnable()) &&
		(!q.Leased || t.Lease.Held) &&
		(!q.Released || t.Releases > 0) &&
		(q.DueBefore == 0 || t.Due != 0 && t.Due <= q.DueBefore)
}

// A SlotKey names a slot: two fields, a thread (or "$process") and a step.
type SlotKey struct {
	Thread string
	Step   string
}

// A SlotVerb is what to do with a slot.
type SlotVerb uint8

// The verbs.
const (
	SlotGet    SlotVerb = iota // ErrNotFound when absent
	SlotPut                    // ErrConflict unless Revision matches, ErrFenced below a fence seen before
	SlotDelete                 // like SlotPut; deleting what is absent is no error
)

// AnyRevision makes a SlotOp unconditional.
const AnyRevision = ^uint64(0)

// A SlotOp is one operation on a slot.
type SlotOp struct {
	Verb     SlotVerb
	Value    []byte // at most 1 MiB: ErrTooLarge
	Revision uint64 // the revision expected, 0 for absent, or AnyRevision
	Fence    uint64 // 0: unfenced; else at least every fence this slot has seen
}

// Admits returns why a store refuses a write to a slot: [ErrFenced] for one under
// an older fence, [ErrConflict] for one that expects another revision. have is
// what the slot holds, there whether it is there or was deleted.
func (op *SlotOp) Admits(key SlotKey, have Slot, there bool) error {
	if op.Fence != 0 && op.Fence < have.Fence {
		return &Error{
			Code:    CodeFenced,
			Message: fmt.Sprintf("slot %q of thread %q was written under fence %d, which is newer than %d", key.Step, key.Thread, have.Fence, op.Fence),
		}
	}
	revision := have.Revision
	if !there {
		if revision = 0; op.Verb == SlotDelete {
			return nil
		}
	}
	if op.Revision != AnyRevision && op.Revision != revision {
		return &Error{
			Code: CodeConflict, Message: fmt.Sprintf("slot %q of thread %q is at revision %d, not %d", key.Step, key.Thread, revision, op.Revision),
			Hint: "read it and try again",
		}
	}
	return nil
}

// A Slot is a slot's content.
type Slot struct {
	Value    []byte
	Revision uint64 // grows with each put, also across deletes
	Fence    uint64
}

// A Removal says what goes from a thread. Exactly one of Bodies, Below and All
// is set.
type Removal struct {
	Thread string
	Bodies []BodyRef // these bodies; headers, hashes and sequence numbers stay
	From   uint64    // with Below: but none with a lower one than this
	Below  uint64    // whole entries with a lower sequence number
	All    bool      // the thread with its summary, index and slots: nothing is left
}

// A BodyRef names one record's body.
type BodyRef struct {
	Seq    uint64 `json:"seq"`
	Record int    `json:"record"` // its index in the entry
}

// Removed counts what a Removal took.
type Removed struct {
	Entries int   `json:"entries"`
	Bodies  int   `json:"bodies"`
	Bytes   int64 `json:"bytes"` // of entries and bodies, as they were encoded
}

// How much a [BulkAppender] is given at once: at most so many entries and so many
// bytes of headers and bodies, unless a single entry is larger.
const (
	MaxBulk      = 256
	MaxBulkBytes = 4 << 20
)

// A BulkAppender is a Store that can append several entries of one thread at
// once. Copies and imports use it; a store that is none gets their entries one
// by one, which is as right and takes a commit for each.
type BulkAppender interface {
	// AppendAll appends the entries of bs, each After the one before it: all of
	// them appear together or none does, and they are durable when it returns nil.
	//
	// Otherwise it is [Store.Append] of one after the other: the same conditions,
	// index, drops and errors, with an id that one entry brings there for the next.
	// Entries at the beginning of bs that are there already are passed over, so
	// that an unknown outcome is settled by asking again. Watchers are given each
	// entry by itself, in order. Of the summaries only the last needs to be kept.
	// ErrInvalid unless all are of one thread and follow each other; nothing to
	// append is no error.
	AppendAll(ctx context.Context, bs []*Batch) error
}

// A Watcher is a Store that can tell what is appended, in commit order. One
// that is none is polled by [ledger.Ledger.Watch].
type Watcher interface {
	// Watch yields entries, with bodies, appended after the cursor ("": from
	// the first that is still there; "now": from the tail as Watch is called)
	// and blocks for more until ctx ends. Each entry carries the cursor to go on
	// from: printable ASCII without spaces and without '~', which the Ledger adds.
	Watch(ctx context.Context, cursor string) iter.Seq2[*Entry, error]
}

// A SlotLister is a Store that can say which slots it has, so that they can be
// copied with it.
type SlotLister interface {
	// Slots yields the slots of one thread, or of all ("") in the order of their
	// keys. Deleted ones are not there.
	Slots(ctx context.Context, thread string) iter.Seq2[*SlotItem, error]
}

// A SlotItem is a slot with its key.
type SlotItem struct {
	Key SlotKey
	Slot
}

// A Compacter is a Store that can rewrite what it holds into fewer bytes.
// Sequence numbers, hashes and headers never change; being killed at any point
// loses nothing.
type Compacter interface {
	Compact(ctx context.Context) (Compacted, error)
}

// Compacted reports a compaction.
type Compacted struct {
	Before int64 `json:"before"` // bytes on disk
	After  int64 `json:"after"`
	Bodies int   `json:"bodies"` // rewritten
}

// A Backuper is a Store that can write a consistent copy of itself while in use.
type Backuper interface {
	// Backup writes the copy to a new file at path, complete and durable when it
	// returns nil. ErrExists if something is there.
	Backup(ctx context.Context, path string) error
}

// An Excluder is a Store that only one process can have open for writing. What
// another owner left leased is then free at once, unless a Ledger of this process
// runs it, which Runs knows. A store that wraps an Excluder passes both on, or
// every Ledger in the process uses the wrapper.
type Excluder interface {
	Exclusive() bool
	Runs() *Runs // the same at each call; never nil
}

// A Checker is a Store that can compare its derived rows (index, summaries)
// with its log, and run its engine's own integrity check: that Find leads from
// every id to its newest place, that lists show nothing else. Each yielded error
// names what differs. It may be called beside any other method.
type Checker interface {
	Check(ctx context.Context) iter.Seq[error]
}

// ProcessThread is the thread of slots that belong to processes, not threads.
const ProcessThread = "$process"

// DefaultMaxState is how many bytes a state may have unless the Ledger's
// options say otherwise: 8 MiB.
const DefaultMaxState = 8 << 20

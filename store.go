package posthouse

import (
	"context"
	"fmt"
	"io"
	"iter"
)

// A Store keeps threads: for each an append-only log, an index from ids to places, one
// summary, and slots. It knows nothing of graphs, deltas or decisions: what all stores
// share is in the [ledger.Ledger]. Package storetest proves an implementation in one
// line.
//
// All methods must be safe for concurrent use. Slices that are passed in belong to the
// caller again when the call returns; slices that are returned belong to the caller. An
// iterator that fails yields one error as its last element. Errors are [Error]s with
// the codes named below.
//
// A write with an unknown outcome (a timeout, a lost connection) is [ErrUnknown]: the
// caller asks again. A read of a server that cannot be reached is [ErrUnavailable], as is
// opening it. If local files may not hold what they should, after a failed commit or
// fsync, or if a server reports damage, every later write is [ErrReadOnly] until the
// store is reopened. Writes may share a commit; a refusal of one never fails the others.
type Store interface {
	// Append adds one entry to one thread: the entry, its ids in the index, and the
	// summary. To readers they appear together or not at all. They are durable when it
	// returns nil.
	//
	// A store without transactions writes the index before the entry, and verifies what
	// it reads: an id without its entry leads nowhere and is free, and a summary that
	// lags the log is brought up from its tail.
	//
	// It fails with ErrConflict, with the tail in Error.Tail, unless the log ends at
	// b.After. Appending an entry again that is there already (same thread, sequence
	// and hash) succeeds, so that an unknown outcome is settled by asking again. With
	// b.First that is ErrConflict, unless this call appended the entry itself. It
	// fails with ErrExists if an id in b.IDs is indexed already: to a place in another
	// thread, or in this one and b.IDs does not say Replace.
	Append(ctx context.Context, b *Batch) error

	// Read yields entries of one thread by sequence. An unknown thread has no entries.
	Read(ctx context.Context, thread string, r Range) iter.Seq2[*Entry, error]

	// Find returns the newest place of a checkpoint, gate or signal, or ErrNotFound.
	Find(ctx context.Context, id ID) (Ref, error)

	// List yields the headers of indexed checkpoints that match: across threads by
	// order key, within one thread by sequence. An id that was replaced appears once,
	// as its newest revision.
	List(ctx context.Context, q Query) iter.Seq2[*Header, error]

	// Threads yields summaries that match, by thread name, descending with
	// q.Descending, by activity with q.Newest, or by due time with q.DueBefore. With q.Gates it yields one for
	// each open gate that matches, by the gates' ids as bytes: the thread's summary
	// with only that gate in Waiting. The reads for a page of gates must not grow with the number of open
	// gates.
	Threads(ctx context.Context, q ThreadQuery) iter.Seq2[*ThreadInfo, error]

	// Slot reads, writes or deletes one overwriteable value beside the log. A write is
	// durable, but has no order with other writes.
	Slot(ctx context.Context, key SlotKey, op SlotOp) (Slot, error)

	// Remove deletes bytes for good. A record has attested them before. Removing again
	// what is gone succeeds.
	Remove(ctx context.Context, r Removal) (Removed, error)

	io.Closer
}

// A Batch is one append.
type Batch struct {
	After  Position    // where the log must end; the zero Position for a thread that has no log
	Entry  *Entry      // its Seq is After.Seq+1
	IDs    []IndexedID // what the entry adds to the index
	Drop   []ID        // ids that leave the index; one that has moved to another thread stays
	Thread *ThreadInfo // the summary once the entry is appended

	// First marks an append that was not tried before: if the entry is there already,
	// another process has made the same one, in the same millisecond.
	First bool

	// Copy marks an entry that is copied from another store as it is there. Bodies that
	// were removed there may be nil, and Seq may leave a gap after After that the other
	// log has.
	Copy bool
}

// An IndexedID is an id that an entry adds to the index.
type IndexedID struct {
	ID      ID
	Order   OrderKey
	Header  *Header // of a checkpoint: its header, to filter by
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
	Seqs    []uint64 // if not nil: only these entries, in this order; absent ones are passed over
	Reverse bool     // newest first
	Limit   int      // 0: all
	Headers bool     // without bodies
}

// A SlotKey names a slot: two fields, a thread (or "$process") and a step.
type SlotKey struct {
	Thread string
	Step   string
}

// A SlotVerb is an operation on a slot.
type SlotVerb uint8

// The verbs.
const (
	SlotGet    SlotVerb = iota // ErrNotFound when absent
	SlotPut                    // ErrConflict unless Revision matches, ErrFenced below the highest fence seen
	SlotDelete                 // like SlotPut; deleting an absent slot succeeds
)

// AnyRevision makes a SlotOp unconditional.
const AnyRevision = ^uint64(0)

// A SlotOp is one operation on a slot.
type SlotOp struct {
	Verb     SlotVerb
	Value    []byte // at most 1 MiB: ErrTooLarge
	Revision uint64 // the expected revision, 0 for absent, or AnyRevision
	Fence    uint64 // 0: unfenced; else not below any fence this slot has seen
}

// Admits returns why a store must refuse a write to a slot, or nil: [ErrFenced] for an
// older fence, [ErrConflict] for another revision than the expected one. have is the
// slot's content, even if deleted; there reports whether it exists.
func (op *SlotOp) Admits(key SlotKey, have Slot, there bool) error {
	if op.Fence != 0 && op.Fence < have.Fence {
		return &Error{
			Code:    CodeFenced,
			Message: fmt.Sprintf("slot %q of thread %q was written under fence %d, which is newer than %d", key.Step, key.Thread, have.Fence, op.Fence),
		}
	}
	revision := have.Revision
	if !there && op.Verb == SlotDelete {
		return nil
	}
	if !there {
		revision = 0
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

// A Removal says what to remove from a thread: exactly one of Bodies, Below and All.
type Removal struct {
	Thread string
	Bodies []BodyRef // these bodies; headers, hashes and sequence numbers stay
	From   uint64    // with Below: only entries from this one on
	Below  uint64    // whole entries with a lower sequence number
	All    bool      // the thread with its summary, index and slots
}

// A BodyRef names one record's body.
type BodyRef struct {
	Seq    uint64 `json:"seq"`
	Record int    `json:"record"` // its index in the entry
}

// A Removed counts what a Removal removed.
type Removed struct {
	Entries int   `json:"entries"`
	Bodies  int   `json:"bodies"`
	Bytes   int64 `json:"bytes"` // of entries and bodies, as they were encoded
}

// Bounds on one call of a [BulkAppender]: entries, and bytes of headers and bodies. Stores
// refuse more entries. Callers keep to the bytes, which a single entry may exceed.
const (
	MaxBulk      = 256
	MaxBulkBytes = 4 << 20
)

// A BulkAppender is a Store that can append several entries of one thread at once.
// Copies and imports use it. Without it entries are appended one by one, which is as
// safe but costs a commit each.
type BulkAppender interface {
	// AppendAll appends the entries of bs, each After the one before it. They appear
	// all together or not at all, and they are durable when it returns nil.
	//
	// It has the conditions, index, drops and errors of one [Store.Append] after the
	// other: an id that one entry brings is there for the next. Entries at the
	// beginning of bs that exist already are passed over, so that an unknown outcome is
	// settled by asking again. Watchers get each entry, in order. Only the last summary
	// needs to be stored. ErrInvalid unless all entries are of one thread and follow
	// each other, and ErrTooLarge for more than [MaxBulk]. An empty bs succeeds.
	AppendAll(ctx context.Context, bs []*Batch) error
}

// A Watcher is a Store that can report what is appended, in commit order. Other stores
// are polled by [ledger.Ledger.Watch].
type Watcher interface {
	// Watch yields the entries, with bodies, that follow the cursor, and blocks for
	// more until ctx ends. "" begins with the first entry that is left, "now" with the
	// next one. Each entry carries its cursor: printable ASCII without spaces and
	// without '~', which the Ledger adds.
	Watch(ctx context.Context, cursor string) iter.Seq2[*Entry, error]
}

// A SlotLister is a Store that can list its slots, so that they can be copied with it.
type SlotLister interface {
	// Slots yields the slots of one thread, or of all for "", by their keys. It leaves
	// out deleted ones.
	Slots(ctx context.Context, thread string) iter.Seq2[*SlotItem, error]
}

// A SlotItem is a slot with its key.
type SlotItem struct {
	Key SlotKey
	Slot
}

// A Compacter is a Store that can rewrite its content into fewer bytes. Sequence
// numbers, hashes and headers never change. A process killed at any point loses
// nothing.
type Compacter interface {
	Compact(ctx context.Context) (Compacted, error)
}

// A Compacted reports a compaction.
type Compacted struct {
	Before int64 `json:"before"` // bytes on disk
	After  int64 `json:"after"`
	Bodies int   `json:"bodies"` // rewritten
}

// A Backuper is a Store that can write a consistent copy of itself while in use.
type Backuper interface {
	// Backup writes the copy to a new file at path, complete and durable when it
	// returns nil. ErrExists if the file exists.
	Backup(ctx context.Context, path string) error
}

// A Weaker is a Store that may be set to lose acknowledged writes, itself or its server.
type Weaker interface {
	// Weak says by what it may lose them now, for people; nothing if it is durable.
	Weak(ctx context.Context) ([]string, error)
}

// An Informer is a Store that says what it is, for people, with its size; 0: that is not known.
type Informer interface {
	Info(ctx context.Context) (kind, promise string, bytes int64, err error)
}

// An Excluder is a Store that only one process can have open for writing. A lease of another owner is
// then free at once, unless a Ledger of this process runs the thread, which Runs knows. A wrapper of an
// Excluder must pass both on, or every Ledger of the process must use the wrapper.
type Excluder interface {
	Exclusive() bool
	Runs() *Running // the same at each call; never nil
}

// A Checker is a Store that can compare its index and summaries with its
// log, and run its engine's integrity check. It checks that Find leads from every id to
// its newest place and that lists show nothing else. Each yielded error names a
// difference. It may be called beside any other method.
type Checker interface {
	Check(ctx context.Context) iter.Seq[error]
}

// ProcessThread is the thread of slots that belong to processes.
const ProcessThread = "$process"

// DefaultMaxState bounds a state, in bytes, unless the Ledger's options say otherwise:
// 8 MiB.
const DefaultMaxState = 8 << 20

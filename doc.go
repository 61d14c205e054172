// Package posthouse gives agent workflows durable checkpoints: a workflow can
// crash, wait a week for a person, move to another host, be forked, replayed
// and audited, and loses nothing.
//
// # Nouns
//
// One word for one thing, here and in every interface:
//
//   - A thread is one line of work with a history: an append-only log of entries,
//     and a head for each branch. An entry is one append: one or more records,
//     with a sequence number and a hash over itself and the entry before it.
//   - A [Checkpoint] is the record that holds state, as named parts. It knows its
//     parent, so the checkpoints of a thread form a tree. An opaque value is one
//     part.
//   - A branch is a named line of checkpoints in a thread, main unless named. A
//     fork is a new branch, or a new thread, that starts at any checkpoint and
//     remembers it.
//   - A step is a unit of work whose result is on record and is never computed
//     again.
//   - A [Gate] is a question to a person, a program or a policy, and a [Decision]
//     its one answer. Both are records.
//   - A [Signal] is a value that is sent to a thread from outside.
//   - A run is one invocation over a thread: a label of the records it writes. A
//     coordination is a label that many threads can share.
//   - A [Release] closes what a thread has so far as a version, which stays
//     readable; the thread begins anew.
//   - A [Slot] is a value beside the log that is overwritten.
//
// # The ledger
//
// Programs use a [Ledger] over a [Store]:
//
//	store, err := sqlitestore.Open(ctx, "posthouse.db", nil)
//	ledger, err := posthouse.Open(store, nil)
//
//	state, err := posthouse.Opaque(nil, order) // any value that encodes as JSON
//	root, err := ledger.Save(ctx, posthouse.Root("order-42", state), nil)
//	next, err := ledger.Save(ctx, root.Derive(state2), nil)
//	last, err := ledger.Latest(ctx, posthouse.LatestQuery{Thread: "order-42"})
//	side, err := ledger.Fork(ctx, root.ID, nil)
//
// Most programs do not call Save: packages graph, coord and step write through
// [Ledger.Commit], one atomic entry for each node that completes, with the
// questions it asks in the same entry. [Ledger.Decide] is the only door by
// which an answer comes in.
//
// A thread that waits is parked at gates, whatever it waits for: a person, a time,
// a signal ([Ledger.Signal]). [Ledger.Cancel] ends a branch, or asks the run that
// has it to.
//
// # Looking after what is stored
//
// [Ledger.List], [Ledger.Gates] and [Ledger.Threads] show it, [Ledger.Compare]
// what changed, [Ledger.Watch] what is appended; an [Observer] is told of each
// operation. [Ledger.Retain] removes by age and number, [Ledger.Delete] by id,
// both on record; [Ledger.Hold] forbids it. [Ledger.Export], [Ledger.Import] and
// [CopyStore] move threads elsewhere, hashes and signatures included.
//
// # Errors
//
// What went wrong is an [*Error] with a stable code, which [errors.Is] matches
// with the sentinels ([ErrNotFound], [ErrConflict], ...), and a hint that says
// what to do. docs/errors.md lists the codes, with their HTTP statuses and exit
// codes.
//
// # What is promised
//
//   - A call that returned is durable, where the store says so. A failed save
//     is an error of the caller, never a line in a log.
//   - Appends are conditional: of two writers on one head, or two deciders of
//     one gate, one wins and the other learns what won ([ErrConflict],
//     [ErrDecided]). A claim's fence number keeps stale runs out ([ErrFenced]).
//   - History is never rewritten. Updating a past checkpoint makes a child.
//   - A checkpoint stores what changed. A chat of n messages takes n messages.
//   - Every byte that is read was hashed when it was written; entries chain,
//     and with a [Signer] they are signed.
//   - With a [Cipher] in [Options] (a [Keyring], or a key management service)
//     what is stored is encrypted; names, labels and errors in headers are not.
//   - Values are copied at the boundary: changing what was passed in or handed
//     out changes nothing that is stored.
//
// docs/guarantees.md says more, and which test tries to break each promise.
//
// # Caveats
//
// Order within a thread is the sequence number. Across threads it is the
// checkpoint's id, whose time part comes from the clock of the process that
// made it. Threads, coordinations, branches, nodes, agents and labels have names
// that people have ([ValidateName]): user@example.com, tenant/42, 日本. A foreign id is accepted if [ID.Validate] does, and gets a place of
// its own at its append. A state is limited to [DefaultMaxState] unless
// [Options] say otherwise; large artefacts belong elsewhere, with a reference
// in the state. A [Store] implementation proves itself with package storetest.
//
// This package imports the standard library, internal/canon and internal/delta,
// and nothing else.
package posthouse

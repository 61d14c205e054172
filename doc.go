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
//   - A step is a unit of work. Its result is on record and is never computed
//     again.
//   - A [Gate] is a question to a person, a program or a policy, and a [Decision]
//     its one answer. Both are records.
//   - A [Signal] is a value that is sent to a thread from outside.
//   - A run is one invocation over a thread: a label of the records it writes. A
//     coordination is a label that many threads can share.
//   - A [Release] closes what a thread has so far as a version, which stays
//     readable; the thread begins again.
//   - A [Slot] is a value beside the log that is overwritten.
//
// # Where things are
//
// This package holds the nouns, the encoding of entries and records, the fold of
// their summaries ([ThreadInfo.Apply]) and the contract of a [Store]. It does no I/O
// and starts no goroutine: all that a store, a verifier or a client needs.
//
// Programs use package ledger, which turns drafts into entries over a Store:
//
//	store, err := sqlitestore.Open(ctx, "posthouse.db", nil)
//	led, err := ledger.Open(store, nil)
//
//	state, err := posthouse.Opaque(nil, order) // any value that encodes as JSON
//	root, err := led.Save(ctx, posthouse.Root("order-42", state), nil)
//	next, err := led.Save(ctx, root.Derive(state2), nil)
//
// Packages graph, flow and coord are programming models on it; gate asks people,
// and runner keeps programs moving. Functions over a Ledger look after what is
// stored: package retain removes by policy or by hand, transfer exports, imports and
// copies, diff compares, crypt has the keys. Package grants reads from a log what ran
// under an approval.
//
// # Errors
//
// A failure is an [*Error] with a stable code, which [errors.Is] matches
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
//   - With a [Cipher] (a crypt.Keyring, or a key management service) what is stored
//     is encrypted; names, labels and errors in headers are not.
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
// that people have ([ValidateName]): user@example.com, tenant/42, 日本. A foreign id
// is accepted if [ID.Validate] does, and gets a place of its own at its append. A state is limited to 8 MiB unless the Ledger's options
// say otherwise; large artefacts belong elsewhere, with a reference
// in the state. A [Store] implementation proves itself with package storetest.
package posthouse

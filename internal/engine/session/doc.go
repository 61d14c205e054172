// Package session is one run over one branch of a thread, under the thread's lease. [Begin]
// claims the thread and finds the branch's head. [Session.Commit] appends under the claim and
// moves the head along. [Session.End] gives the thread back.
//
//	s, err := session.Begin(ctx, ledger, session.Options{Thread: "order-1234"})
//	if err != nil {
//		return err // posthouse.ErrBusy: somebody else runs the thread
//	}
//	defer s.End(ctx)
//	_, err = s.Commit(ctx, &ledger.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, ...}})
//
// # Who may act
//
// A claim is on record with a session's first commit. Before that, two processes may both
// be about to run a thread. So the claim is put on record by itself before anything acts: see
// [Lease.Persist]. The slower process gets an error. On a store that only this process
// has open this writes nothing.
//
// A process may be frozen for longer than its lease. [Lease.Hold] returns a context that ends
// when the lease may have lapsed, and [Lease.Confirm] asks the store before something begins
// to act.
//
// # What is read when
//
// After a checkpoint of this session nothing is on record for the next step, so
// [Record.Execution] reads nothing. One [core.Core.Executions] is read for the first step
// after Begin, and for a step that runs again after it waited, failed or recorded something. It
// reads on from what the ledger kept of a long execution.
//
// # Caveats
//
// A failed commit ends the session: every later Commit returns the same error,
// even if the program swallowed it. Commits ignore cancellation: work that was paid for is
// recorded.
package session

// Package engine is the kit that the programming models share: the lease and
// the head of a branch ([Session]), the recorded results and questions of one
// execution of a node ([Task]), and how both travel in a context.
//
// A model runs a branch like this:
//
//	s, err := engine.Begin(ctx, ledger, engine.SessionOptions{Thread: "order-1234"})
//	if err != nil {
//		return err // posthouse.ErrBusy: somebody else runs the thread
//	}
//	defer s.End(ctx)
//	for !engine.Draining(ctx) {
//		t, err := s.TaskWithKey(ctx, s.Key(node), false)
//		...
//		err = engine.Guard(func() error { return fn(t.With(ctx), state) })
//		switch {
//		case t.Waiting() || errors.Is(err, posthouse.ErrWaiting): // asked: park
//			if len(t.Gates().New()) > 0 {
//				_, err = s.Commit(ctx, waitDraft) // Gates: t.Gates().New(), Keep: the ids of t.Gates().Open(), Steps: t.Records().Held()
//			} // else the head already waits for these very gates
//			return err
//		case err != nil: // commit a checkpoint of kind fail
//		default: // commit a checkpoint of kind node
//		}
//	}
//
// # What is read when
//
// A node that follows a checkpoint which this session committed itself cannot
// have anything on record, so [Session.TaskWithKey] reads nothing. Only the first
// node after Begin, and one that runs again after it waited, failed or
// recorded something cost one [core.Core.Executions].
//
// # Replay
//
// A result is found by task, name and occurrence: the n-th call of a name in
// one execution. Every call counts, also one that fails, so that in a loop
// over items each item keeps its own result. As long as a replay is answered
// from the record alone it must ask in the recorded order; the first call that
// does not is an [OrderError] that names both steps, before anything runs. A
// program that went on after a failed step may take another way the next time:
// the failure is on record with the step that followed it, and from there on
// results are found by key only. The same holds below [Unordered], for steps
// that run at once, and inside a step (see [Scope]).
//
// # Waits
//
// A task that sleeps or waits for a signal ([Task.Until], [Task.Signal]) asks
// like one that puts a question: its gates are among [Gates.New], of a kind
// that no person decides. The commit that opens such a gate may answer it at
// once, with a signal that came in between; the checkpoint is then ready, not
// waiting, and the model runs the node again.
//
// # Who may act
//
// A claim is on record with a session's first commit. Before that two processes
// may both mean to run a thread that rests; so before the first thing that acts
// (the function of a Do, or what a model runs after [Task.Secure]) the claim is
// put on record by itself, and the slower process is told. On a store that only
// this process has open this writes nothing.
//
// # Caveats
//
// A failed commit ends the session: every later Commit returns the same error,
// even if the program swallowed it. Commits do not heed cancellation: work that
// was paid for is recorded.
//
// # Fronts
//
// A [Front] is how callers come to a graph or a flow: it claims, drives, replays and
// releases, in the foreground, in the background and for a reader of a stream, and asks
// the model, by its [Run], for what only that knows.
//
// The package imports the root package, ledger, diff, transfer, internal/core and
// internal/commit.
package engine

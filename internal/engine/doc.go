// Package engine is what the programming models share. A [Session] has the lease and the
// head of a branch. A [Task] has the recorded results and questions of one execution of
// a node, and travels in its context.
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
// A node behind a checkpoint of this session has nothing on record, so
// [Session.TaskWithKey] reads nothing. One [core.Core.Executions] is read for the first
// node after Begin, and for a node that runs again after it waited, failed or recorded
// something.
//
// # Replay
//
// A result is found by task, name and occurrence: the n-th call of a name in
// one execution. Every call counts, also one that fails, so that in a loop
// over items each item keeps its own result. As long as a replay is answered
// from the record alone it must ask in the recorded order. The first call that
// does not is an [OrderError] that names both steps, before anything runs. A
// program that went on after a failed step may do otherwise the next time: the
// failure is on record with the step that followed it, and from there on
// results are found by key only. The same holds below [Unordered], for steps
// that run at once, and inside a step (see [Task.Scope]).
//
// # Waits
//
// A task that sleeps or waits for a signal ([Task.Until], [Task.Signal]) asks like one
// with a question. Its gates are among [Gates.New], of a kind that no person decides. The
// commit that opens such a gate may answer it with a signal that came in between. The
// checkpoint is then ready, not waiting, and the model runs the node again.
//
// # Who may act
//
// A claim is on record with a session's first commit. Before that, two processes may both
// be about to run a thread. So the claim is put on record by itself before anything acts:
// the function of a Do, or what a model runs after [Task.Secure]. The slower process gets
// an error. On a store that only this process has open this writes nothing.
//
// # Caveats
//
// A failed commit ends the session: every later Commit returns the same error,
// even if the program swallowed it. Commits ignore cancellation: work that was paid for is
// recorded.
//
// # Fronts
//
// A [Front] runs a graph or a flow for its callers: it claims, drives, replays and releases
// threads, in the foreground, in the background and for a reader of a stream. A model
// implements [Run] for the rest.
package engine

// Package engine is what the programming models share: the execution of a node, flow or
// handler. A [Task] has its recorded results and questions, and travels in the context of its
// code. Three packages below have what is around an execution:
//
//	session   a run over a branch under the thread's lease: claim, head, commits
//	front     a model's programs for their callers: run, start, stream, resume, read
//	stream    what happens in a run, on its way to a reader
//
// A model runs a branch like this:
//
//	s, err := session.Begin(ctx, ledger, session.Options{Thread: "order-1234"})
//	if err != nil {
//		return err // posthouse.ErrBusy: somebody else runs the thread
//	}
//	defer s.End(ctx)
//	for !engine.Draining(ctx) {
//		t, err := engine.TaskWithKey(ctx, s, s.Key(node), false)
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
// The session's claim is put on record before anything acts: the function of a Do, or what a
// model runs after [Task.PersistClaim]. See package session.
package engine

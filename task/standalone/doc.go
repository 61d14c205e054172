// Package standalone runs tasks that no program hands out: a task with a thread of its own.
//
//	s, err := standalone.Open(ledger)
//	started, err := s.Start(ctx, task.Start{Task: "transcribe", Input: input, Key: "video-7"}, "alice")
//	...                                            // a worker completes it
//	started, err = s.Outcome(ctx, started.Thread) // Status, Output, Error
//
// Such a task is a run of the flow [Name], with the task as its one step. So it is durable
// before Start returns, its history can be read, and cancel, release and retention treat it as
// any thread. Give [Starter.Program] to a runner, which ends the thread once a worker has
// completed the task.
package standalone

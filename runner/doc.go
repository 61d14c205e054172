// Package runner keeps registered programs moving: it resumes what can run at
// start-up, after a decision, and when a question's deadline has passed.
//
//	r, err := runner.New(ledger, &runner.Options{Programs: []posthouse.Program{refund, onboarding}})
//	if err != nil {
//		return err
//	}
//	err = r.Run(ctx) // until ctx ends; then it drains
//
// # How it finds work
//
// The log is the truth: a sweep asks the store each Options.Poll which threads
// can run and which deadlines have passed. Hints only make it faster: the
// runner watches a store that is a [posthouse.Watcher], and [Runner.Kick] says
// that a thread may have something to do. A hint that is lost, doubled or late
// changes only the time it takes, at most Options.Poll. Any other store the runner
// does not watch: that would read every thread's summary, five times a second by
// default, while a sweep reads only what can run or is due.
//
// A thread belongs to the program that its checkpoint names. Threads of other
// programs are left alone: several processes with different programs, or the same
// ones, may share a store. So may versions of a program, while a deploy is under way: a thread
// that this version cannot go on with ([posthouse.ErrOtherVersion]) is left to the processes
// that can, and the log says so once for each version. A runner holds the lease of a thread that it runs, and
// the Ledger renews it. If a process is silent for the lease's time, another takes its
// threads: with the default lease of 3 s and Poll of 1 s, within 5 s. While others have
// threads that could run here, a runner reads the liveness of each of these processes
// twice a second, however many threads they have.
//
// A program that is a [Sweeper] also looks after its threads that cannot run, each hour.
//
// # Failures
//
// A thread that failed is left in the log as failed and is not tried again
// until [Runner.Resume]. Where a program could not even record that (the store
// is full, the network is gone), the thread is tried again after a growing
// pause. One thread's errors are logged and never stop others.
//
// # Once, without a goroutine
//
// [Runner.Settle] moves all that can run and returns. It is for tests, and for a job that a
// timer of yours starts.
//
// # Draining
//
// When Run's ctx ends nothing new is begun, programs stop before their next
// node, and nodes that run may finish within Options.DrainTimeout; then their context
// ends. Leases are given back, so another process goes on at once.
//
// # Waiting for the outcome
//
// [Runner.Wait] waits until a branch has parked or ended, for callers that
// decide a gate and answer with the outcome.
package runner

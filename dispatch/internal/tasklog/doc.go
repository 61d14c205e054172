// Package tasklog reads what the log says of a task: of the execution that handed it out, of what
// its handler has put on record there, and of the approval that it acts under.
//
//	l := tasklog.New(ledger)
//	x, err := l.Execution(ctx, gate)       // nil if nothing of it is on record
//	why, err := l.WhyWithdraw(ctx, gate)   // "" if a worker may have the task
//
// It writes nothing.
package tasklog

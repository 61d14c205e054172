package hint

import (
	"context"
	"time"
)

// A Queue has the hints of engines that share a store. Its methods are safe for concurrent
// use. Each error that is [posthouse.ErrUnavailable] or [posthouse.ErrUnsupported] says that
// an engine is to find its tasks without the queue, and to try Open again.
type Queue interface {
	// Open makes the queue where it is not there, and says whether it can be used.
	// [posthouse.ErrUnsupported] if the servers have no queues.
	Open(ctx context.Context) error

	// Publish tells of tasks. It does nothing for one that the queue has a hint of, given to
	// an engine or not. Without again, it does nothing either for one that it was told of in
	// the last minutes: several engines may hear of one commit.
	Publish(ctx context.Context, again bool, hints ...Hint) error

	// Take calls fn with the hints of a line as they come, the oldest first, and returns when
	// the demand is met or its wait is over. A message that is no hint goes to the dead
	// letters instead.
	Take(ctx context.Context, d Demand, fn func(Delivery)) error
}

// A Demand is for hints of one line: those of a task and a group.
type Demand struct {
	Task, Group string

	N    int           // how many are wanted
	Wait time.Duration // for all of them

	// Lease is how long an engine may be silent about a hint that it was given.
	Lease time.Duration

	// Most bounds how many hints of the line are with engines at a time, all engines
	// together; 0 is any number. All engines must say the same.
	Most int
}

// A Delivery is a hint that an engine was given. Unless it says InProgress, the hint goes to
// another engine after a lease. The methods' messages may be lost; only Dead waits for an
// answer.
type Delivery interface {
	Hint() Hint
	Ack()                  // the task needs no hint any more
	InProgress()           // the engine has the task still
	Later(d time.Duration) // the hint is given again, to any engine, in d
	Dead(reason string)    // the hint is wrong: it goes to the dead letters
}

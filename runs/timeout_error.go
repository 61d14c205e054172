package runs

import (
	"context"
	"fmt"
	"time"
)

// A TimeoutError ends an attempt of a node that took longer than its time limit, or showed no
// activity for its idle limit. It matches [context.DeadlineExceeded].
type TimeoutError struct {
	Node      string
	After     time.Duration
	Idle      bool // it showed no activity for that long
	Abandoned bool // the node ignores its context: it goes on without effect
}

// Error names the node and the limit.
func (e *TimeoutError) Error() string {
	s := fmt.Sprintf("posthouse: node %q took longer than %s", e.Node, e.After)
	if e.Idle {
		s = fmt.Sprintf("posthouse: node %q showed no sign of life for %s", e.Node, e.After)
	}
	if e.Abandoned {
		s += " and ignores its context: it was given up"
	}
	return s
}

// Is matches [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

package sessions

import (
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/board"
)

// maxNames bounds the tasks that the workers of one pass name in namesKept. Each is a queue.
const maxNames = 4_000

// namesKept is how long an engine knows which tasks the workers of a pass have named: as long as
// a shared queue keeps the queue of a task that no worker asks for.
const namesKept = time.Hour

// queueTimes say when each queue was named last.
type queueTimes map[board.QueueKey]time.Time

// names are the queues that the workers of each pass have named.
type names struct {
	byPass  map[string]queueTimes
	sweptAt time.Time // when the old names of all passes were forgotten
}

// add notes the queues that a session of a pass names. Each is kept in the queue that engines
// share, so a pass may not name new ones without end: then the error is [posthouse.ErrBusy].
func (n *names) add(pass string, keys []board.QueueKey, now time.Time) error {
	n.forgetOld(pass, now)
	if since := now.Sub(n.sweptAt); since >= namesKept || since < 0 {
		n.sweptAt = now
		for other := range n.byPass {
			n.forgetOld(other, now)
		}
	}
	known, more := n.byPass[pass], 0
	for _, key := range keys {
		if _, ok := known[key]; !ok {
			more++
		}
	}
	if more > 0 && len(known)+more > maxNames {
		return &posthouse.Error{
			Code: posthouse.CodeBusy, Field: "tasks",
			Message: fmt.Sprintf("the workers of %s named %d tasks in the last hour, and now %d more; the limit is %d, a task of two groups counting twice", pass, len(known), more, maxNames),
			Hint:    "name the same tasks each time; what changes belongs in a task's input",
		}
	}
	if known == nil {
		known = queueTimes{}
		n.byPass[pass] = known
	}
	for _, key := range keys {
		known[key] = now
	}
	return nil
}

// forgetOld forgets the queues that the workers of a pass have not named for namesKept.
func (n *names) forgetOld(pass string, now time.Time) {
	known := n.byPass[pass]
	for key, at := range known {
		if since := now.Sub(at); since >= namesKept || since < 0 {
			delete(known, key)
		}
	}
	if len(known) == 0 {
		delete(n.byPass, pass)
	}
}

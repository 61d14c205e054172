package claims

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/dispatch/internal/tasklog"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/task"
)

// A Claim is that of a session here.
type Claim struct {
	ID       task.ClaimID // with its session, which is here or is being ended
	Gate     *posthouse.Gate
	Steps    func() *commit.TaskSteps         // that its handler may record, made when it first does
	Recorded atomic.Pointer[tasklog.Recorded] // while its worker turns the pages

	since    time.Time // when it was claimed, or this engine heard of it
	deadline time.Time // of the attempt; zero if it has no limit
	lost     bool      // its gate was decided, but not by its session; Claims' lock guards it
}

// Since returns when the attempt was claimed, or this engine heard of it.
func (c *Claim) Since() time.Time { return c.since }

// Lost is the answer to a call with a claim that is lost.
func Lost(id task.ClaimID) error {
	return &posthouse.Error{
		Code: posthouse.CodeConflict, Gate: id.Gate, Message: "this worker does not have the task of gate " + string(id.Gate) + " any more",
		Hint: "stop the handler: the task was resolved, cancelled or given to another worker",
	}
}

// New returns a claim of a gate, which is not tracked yet. The time of an attempt that began at
// another engine counts from now on.
func (a *Claims) New(id task.ClaimID, g *posthouse.Gate) *Claim {
	c := &Claim{ID: id, Gate: g, Steps: sync.OnceValue(func() *commit.TaskSteps { return a.log.Steps(g) }), since: a.core.Now()}
	if limit := g.Call.Limits.Timeout; limit > 0 {
		c.deadline = c.since.Add(limit)
	}
	return c
}

package claims

import (
	"crypto/sha256"
	"slices"
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

	mu      sync.Mutex
	refused [][sha256.Size]byte // hashes of outputs that did not fit and are kept

	since    time.Time // when it was claimed, or this engine heard of it
	deadline time.Time // of the attempt; zero if it has no limit
	lost     bool      // its gate was decided, but not by its session; Claims' lock guards it
}

// Since returns when the attempt was claimed, or this engine heard of it.
func (c *Claim) Since() time.Time { return c.since }

// Refuse notes an output that does not fit, and reports whether it is to be kept: it is another than
// those before, fewer than most.
func (c *Claim) Refuse(output []byte, most int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := sha256.Sum256(output)
	if len(c.refused) >= most || slices.Contains(c.refused, h) {
		return false
	}
	c.refused = append(c.refused, h)
	return true
}

// Unrefuse forgets the last output that Refuse noted: it could not be kept.
func (c *Claim) Unrefuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = c.refused[:max(0, len(c.refused)-1)]
}

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

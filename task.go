package posthouse

import (
	"encoding/json"
	"time"
)

// A TaskCall says what a worker is to do for a gate of kind [GateTask]. The gate's payload
// is the input. A worker answers with [Respond] and its output, or with [Reject] and the
// reason, when no attempt is left. Each attempt that failed, each pause and each iteration
// opens a gate of its own, in the entry that decides the one before.
type TaskCall struct {
	// ID is that of the call's first gate. It is the same for all attempts and iterations,
	// so that a handler may use it as a key that keeps an effect from happening twice.
	ID ID `json:"id,omitempty"`

	Task  string `json:"task"`            // the handler's name, 1 to 200 bytes
	Group string `json:"group,omitempty"` // of workers; "" is any

	Attempt   int             `json:"attempt,omitempty"`   // from 1
	Iteration int             `json:"iteration,omitempty"` // from 0
	Continued json.RawMessage `json:"continued,omitempty"` // what the last iteration went on with
	Paused    string          `json:"paused,omitempty"`    // the pause it comes back from
	Failure   string          `json:"failure,omitempty"`   // of the last attempt
	Began     time.Time       `json:"began,omitzero"`      // when the first gate was opened
	NotBefore time.Time       `json:"notBefore,omitzero"`  // when a worker may take it

	// Grant is the gate that licenses the handler's effect, "" for a task that acts without a
	// grant. It belongs to the use of the grant that Use names: the step that acts, with its
	// number, as in "pay[1]".
	Grant  ID     `json:"grant,omitempty"`
	Use    string `json:"use,omitempty"`
	Key    string `json:"key,omitempty"`    // of an effect under a grant: the same in all attempts of its use; without it ID is the key
	Effect Effect `json:"effect,omitempty"` // its class; [EffectExternal] happens once, [EffectWrite] once for a key
	Lost   bool   `json:"lost,omitempty"`   // an attempt before this one may have acted: its worker did not say

	// Checks says that the program has a check of its own of the grant, which is asked again before
	// a worker has the task. Checked says that it was asked because a worker wanted the task, right
	// before this gate was opened.
	Checks  bool `json:"checks,omitempty"`
	Checked bool `json:"checked,omitempty"`

	Limits   TaskLimits        `json:"limits,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"` // for the handler, beside its input; at most 32 values
	Trace    map[string]string `json:"trace,omitempty"`    // of whoever asked, as W3C Trace Context names it
}

// Once reports whether the task is an effect under a grant that must not be tried again
// while it is not known what became of it.
func (c *TaskCall) Once() bool { return c.Grant != "" && c.Effect != EffectWrite }

// TaskLimits bound the attempts and iterations of a task.
type TaskLimits struct {
	// RetryPolicy is that of failed attempts. By default there are three, at most 1,000; the second
	// begins after a second, and no wait is longer than a minute.
	RetryPolicy

	Timeout time.Duration `json:"timeout,omitempty"` // of one attempt; 0: no timeout

	Iterations int           `json:"iterations,omitempty"` // at most; 0 is 1,000
	Duration   time.Duration `json:"duration,omitempty"`   // from Began until the last iteration begins; 0: no limit
	LoopDelay  time.Duration `json:"loopDelay,omitempty"`  // between iterations

	NoSlot bool `json:"noSlot,omitempty"` // handlers keep nothing between attempts
}

package grants

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
)

// A Status says how far an approved effect has come.
type Status string

// The states of a grant, in their order.
const (
	Proposed Status = "proposed" // its gate waits
	Decided  Status = "decided"  // the gate is decided, and no effect ran
	Released Status = "released" // an effect was let go, and a run is at it
	Executed Status = "executed" // as many effects as it licenses have their result on record
	Unknown  Status = "unknown"  // an effect was abandoned, and its outcome is not known
)

// A Use is one effect that ran, or may have run. Grant names the gate that licensed
// it by its decision, "" if it had no license.
type Use struct {
	Generation uint32           `json:"generation"` // of the thread
	Branch     string           `json:"branch"`
	Task       string           `json:"task,omitempty"`       // the execution; "" for a node as a whole
	Name       string           `json:"name"`                 // of the step, or of the node
	Occurrence uint32           `json:"occurrence,omitempty"` // of the step
	Grant      posthouse.ID     `json:"grant,omitempty"`      // the gate that licensed it by its decision
	Status     Status           `json:"status"`               // decided, released, executed or unknown
	Failed     int              `json:"failed,omitempty"`     // attempts that are known not to have acted
	First      uint64           `json:"first"`                // the first entry about it
	Seq        uint64           `json:"seq"`                  // the newest
	At         time.Time        `json:"at"`                   // of that entry
	Effect     posthouse.Effect `json:"effect"`               // its class

	// Result is the recorded outcome. It is empty until there is one, and once it was
	// removed. Only [ledger.ReadGrant] fills it.
	Result posthouse.Value `json:"-"`

	// Attempts are those of workers that had the effect as a task, oldest first. Only
	// [ledger.ReadGrant] and [ledger.Effects] fill them.
	Attempts []Attempt `json:"attempts,omitempty"`

	Index int `json:"-"` // of its result among the records of entry Seq

	use     effect.Use
	places  []Place
	handler posthouse.ID // the task with the handler that let it go, "" for a program's
}

// An Attempt is what a worker had of an effect.
type Attempt struct {
	Gate   posthouse.ID `json:"gate"`             // of the task
	Worker string       `json:"worker,omitempty"` // as in "worker:gpu-1"
	At     time.Time    `json:"at"`               // when it was given to the worker
	Undone bool         `json:"undone,omitempty"` // the worker said that this attempt did not act
}

// A Grant is a gate as a license for effects: what was shown, what was decided, and
// what ran under it.
type Grant struct {
	Gate   *posthouse.Gate `json:"gate"`
	Status Status          `json:"status"`

	// Approval says whether effects may still run under the decision.
	Approval Approval `json:"approval,omitempty"`

	Uses []Use `json:"uses"` // in the order they were let go
}

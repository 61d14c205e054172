package posthouse

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/base/text"
)

// Status says what a checkpoint's branch can do next.
type Status string

// The statuses. A branch has the status of its head, except that a decision
// turns waiting into ready, or into done where nothing waits but a session
// ([GateSession]).
const (
	StatusSaved       Status = ""            // saved by hand: nothing runs it
	StatusRunning     Status = "running"     // Next can be run
	StatusWaiting     Status = "waiting"     // gates are open
	StatusReady       Status = "ready"       // a gate was decided; Next can be run
	StatusInterrupted Status = "interrupted" // stopped before or after a node; runs when resumed
	StatusDone        Status = "done"        // reached its end
	StatusFailed      Status = "failed"      // a node failed; Next names it, resuming runs it again
	StatusCancelled   Status = "cancelled"   // ended by a request to cancel
)

// Runnable reports whether a runner should move the branch on its own.
func (s Status) Runnable() bool { return s == StatusRunning || s == StatusReady }

// TracePart is the part of a program that keeps the trace context of the branch's newest input, as
// JSON text. It stays with the branch's forks and copies; see package trace.
const TracePart = "$trace"

// MainBranch is the branch a thread starts with.
const MainBranch = "main"

// DefaultThread is used if a caller names no thread (LangGraph4j's default).
const DefaultThread = "$default"

// A Source says where a fork came from.
type Source struct {
	Thread string `json:"thread"`
	ID     ID     `json:"id"`
}

// Kinds of checkpoint: why it was made.
const (
	KindSave   = "save"   // by hand, through the Ledger; in the middle of a step or after it
	KindInput  = "input"  // input merged into a thread, before the first node
	KindNode   = "node"   // a node, handler or agent completed
	KindWait   = "wait"   // a node asked, or a static interrupt
	KindUpdate = "update" // state edited by hand
	KindFork   = "fork"   // first of a branch or of a forked thread
	KindFail   = "fail"   // a node failed
	KindEvent  = "event"  // a journal turned an event into a checkpoint, in the middle of a step
	KindCancel = "cancel" // the run was cancelled
	KindInner  = "inner"  // a node of a subgraph completed, in the middle of its parent's step

	// KindMigrate is made when a changed program migrates a branch: the same state and
	// tasks in the shape of the program that runs now.
	KindMigrate = "migrate"

	// KindRestartStep is made when a step begins again ([ledger.Ledger.RestartStep]). An unfinished
	// execution then knows neither its earlier results nor its waits, except results of
	// effects on the world.
	KindRestartStep = "anew"
)

// A Header is a checkpoint without its state: what lists show and filters see.
type Header struct {
	ID           ID                `json:"id"`
	Parent       ID                `json:"parentId,omitempty"`
	Thread       string            `json:"thread"`
	Coordination string            `json:"coordinationId"` // the thread's id unless set
	Branch       string            `json:"branch"`
	Kind         string            `json:"kind"`
	Status       Status            `json:"status,omitempty"`
	Run          string            `json:"run,omitempty"`
	Graph        string            `json:"graph,omitempty"`       // the program's name
	Fingerprint  string            `json:"fingerprint,omitempty"` // of the program's shape
	Node         string            `json:"node,omitempty"`
	Agent        string            `json:"agentName,omitempty"`
	Next         []string          `json:"next,omitempty"`   // nodes that run next
	Step         uint64            `json:"step"`             // steps from the thread's start along the parents
	Gates        []ID              `json:"gates,omitempty"`  // questions opened with it
	Source       *Source           `json:"source,omitempty"` // set on the first checkpoint of a fork
	Labels       map[string]string `json:"labels,omitempty"` // queryable; at most 16, keys and values at most 200 bytes
	By           string            `json:"by,omitempty"`     // who made it, if a person did
	Error        string            `json:"error,omitempty"`  // why it failed, at most 4,000 bytes; longer ones are cut
	CreatedAt    time.Time         `json:"createdAt"`
	Began        time.Time         `json:"beganAt,omitzero"`   // of its node's last attempt; of several nodes that it completes the first
	Took         time.Duration     `json:"-"`                  // until CreatedAt, see [Story]
	Attempts     int               `json:"attempts,omitempty"` // of its node, see [Story]; the most of several

	Generation uint32   `json:"generation"`         // of the thread, from 1
	Seq        uint64   `json:"seq"`                // of its entry in the thread's log
	ParentSeq  uint64   `json:"-"`                  // 0 for a root
	Revision   uint32   `json:"revision,omitempty"` // counts replacements of the same id, from 0
	Size       int      `json:"size"`               // bytes of the whole state, metadata excluded
	Hash       Hash     `json:"hash"`               // of its entry: what a decision is bound to
	Order      OrderKey `json:"-"`                  // its place among all threads' checkpoints
}

// A Checkpoint is one immutable state of a thread.
type Checkpoint struct {
	Header
	State    State             `json:"state"`
	Metadata map[string]string `json:"metadata,omitempty"`

	// Program holds what the checkpoint's program keeps beside the state, such as the
	// pending tasks of a graph. Its parts' names begin with $. Edits of the state do
	// not change it; forks copy it.
	Program State `json:"-"`
}

// IsRoot reports whether the checkpoint has no parent.
func (c *Checkpoint) IsRoot() bool { return c.Parent == "" }

// Traceparent returns the trace context of the branch's newest input, as the W3C header has it. It
// is "" if there is no such context.
func (c *Checkpoint) Traceparent() (traceparent string) {
	_ = json.Unmarshal(c.Program[TracePart].Data, &traceparent) // a trace is never a reason to fail
	return traceparent
}

// Clone returns a deep copy that shares nothing with c.
func (c *Checkpoint) Clone() *Checkpoint {
	return &Checkpoint{Header: *c.Header.Clone(), State: c.State.Clone(), Metadata: maps.Clone(c.Metadata), Program: c.Program.Clone()}
}

// Clone returns a deep copy.
func (h *Header) Clone() *Header {
	d := &struct {
		Header
		next [1]string // memory for Next: most checkpoints have one
	}{Header: *h}
	d.Labels, d.Gates = maps.Clone(h.Labels), slices.Clone(h.Gates)
	if h.Next != nil {
		d.Next = append(d.next[:0:1], h.Next...)
	}
	if h.Source != nil {
		s := *h.Source
		d.Source = &s
	}
	return &d.Header
}

// Derive returns an unsaved child with a new state and no id. It has the same thread,
// branch, coordination, agent, labels and metadata, as "deriveWith" of Atmosphere does.
func (c *Checkpoint) Derive(state State) *Checkpoint {
	return &Checkpoint{
		Header: Header{
			Parent: c.ID, Thread: c.Thread, Branch: c.Branch, Coordination: c.Coordination,
			Agent: c.Agent, Graph: c.Graph, Labels: maps.Clone(c.Labels),
		},
		State:    state.Clone(),
		Metadata: maps.Clone(c.Metadata),
	}
}

// Root returns an unsaved checkpoint without a parent. Its thread is the coordination's
// name until the caller sets another.
func Root(coordination string, state State) *Checkpoint {
	return &Checkpoint{
		Header: Header{Thread: coordination, Coordination: coordination, Branch: MainBranch},
		State:  state.Clone(),
	}
}

// StepOf returns how many steps a kind of checkpoint adds to the count. It is 0 for
// a wait, a failure, a fork or a migration, and in the middle of a step: for an
// event or a subgraph's node.
func StepOf(kind string) uint64 {
	switch kind {
	case KindWait, KindFail, KindFork, KindEvent, KindInner, KindCancel, KindMigrate, KindRestartStep:
		return 0
	}
	return 1
}

// GoesOn reports whether a checkpoint is in the middle of the step that its
// parent is in.
func GoesOn(h, parent *Header) bool {
	return StepOf(h.Kind) == 0 || isEdit(h.Kind) && h.Step == parent.Step
}

// isEdit reports whether checkpoints of a kind are made by hand, in the middle of a step or
// after it.
func isEdit(kind string) bool { return kind == KindUpdate || kind == KindSave }

// CheckPartName checks the name of a part of the state: 1 to [MaxID] bytes of text, not
// beginning with $.
func CheckPartName(name string) error {
	if name == "" || len(name) > MaxID || !text.Valid(name) || IsReserved(name) {
		return Invalid("part", "name %.40q must be 1 to %d bytes of text that do not begin with $", name, MaxID)
	}
	return nil
}

// IsProgramPart reports whether a program may give a part this name. It may hold
// escaped names of nodes.
func IsProgramPart(name string) bool {
	return IsReserved(name) && name != MetaPart && name != SignalsPart && len(name) > 1 && len(name) <= MaxTask && !IsReserved(name[1:]) && text.Valid(name)
}

// IsReserved reports whether a part's name begins with $: it is not the state's own.
func IsReserved(name string) bool { return strings.HasPrefix(name, "$") }

package posthouse

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// A GrantStatus says how far an approved effect has come.
type GrantStatus string

// The states of a grant, in their order.
const (
	GrantProposed GrantStatus = "proposed" // its gate waits
	GrantDecided  GrantStatus = "decided"  // the gate is decided, and no effect ran
	GrantReleased GrantStatus = "released" // an effect was let go, and a run is at it
	GrantExecuted GrantStatus = "executed" // as many effects as it licenses have their result on record
	GrantUnknown  GrantStatus = "unknown"  // an effect was abandoned, and its outcome is not known
)

// A Use is one effect that ran, or may have run. Grant names the gate whose decision
// licensed it, "" if none did.
type Use struct {
	Generation uint32      `json:"generation"` // of the thread
	Branch     string      `json:"branch"`
	Task       string      `json:"task,omitempty"`       // the execution; "" for a node as a whole
	Name       string      `json:"name"`                 // of the step, or of the node
	Occurrence uint32      `json:"occurrence,omitempty"` // of the step
	Grant      ID          `json:"grant,omitempty"`      // the gate whose decision licensed it
	Status     GrantStatus `json:"status"`               // decided, released, executed or unknown
	Failed     int         `json:"failed,omitempty"`     // attempts that are known not to have acted
	First      uint64      `json:"first"`                // the first entry about it
	Seq        uint64      `json:"seq"`                  // the newest
	At         time.Time   `json:"at"`                   // of that entry
	Effect     Effect      `json:"effect"`               // its class

	// Result is the recorded outcome. It is empty until there is one, and once it was
	// removed. Only [ledger.ReadGrant] fills it.
	Result Value `json:"-"`

	// Attempts are those of workers that had the effect as a task, oldest first. Only
	// [ledger.ReadGrant] and [ledger.Effects] fill them.
	Attempts []UseAttempt `json:"attempts,omitempty"`

	released int // attempts
	Index    int `json:"-"` // of its result among the records of entry Seq

	waiting useWaiting
	handler ID // the task whose handler let it go, "" for a program's
}

// A UseAttempt is what a worker had of an effect.
type UseAttempt struct {
	Gate   ID        `json:"gate"`             // of the task
	Worker string    `json:"worker,omitempty"` // as in "worker:gpu-1"
	At     time.Time `json:"at"`               // when it was given to the worker
	Undone bool      `json:"undone,omitempty"` // the worker said that this attempt did not act
}

// A Grant is a gate as a license for effects: what was shown, what was decided, and
// what ran under it.
type Grant struct {
	Gate   *Gate       `json:"gate"`
	Status GrantStatus `json:"status"`

	// Approval says whether effects may still run under the decision.
	Approval Approval `json:"approval,omitempty"`

	Uses []Use `json:"uses"` // in the order they were let go
}

// Licensed returns the content that the gate's decision approved: what was shown, or
// the edit. It is nil unless the gate was approved.
func (g *Gate) Licensed() json.RawMessage {
	switch d := g.Decision; {
	case d == nil || !d.Verdict.IsYes():
		return nil
	case d.Verdict.TakesValue():
		return d.Value
	default:
		return g.Payload
	}
}

// NeedsGrant returns the error of an effect on the world that nobody approved, under
// Options.RequireGrants.
func NeedsGrant(step string) error {
	return &Error{
		Code: CodeForbidden, Field: "effect", Message: "step " + step + " acts on the world without a grant, and this ledger asks for one",
		Hint: "propose it (gate.Propose) and run it under the decision (gate.Act)",
	}
}

// labelEffect is the label of a node's checkpoint that lists the effect classes
// completed there, as in "external" or "read+write".
const labelEffect = "effect"

// A UseGatherer collects the effects of a log whose entries are added in order.
type UseGatherer struct {
	uses  []Use
	at    map[useKey]int
	gates map[ID]int // of waits within uses, while they are open
	tasks openTasks
}

type useKey struct {
	generation         uint32
	branch, task, name string
	occurrence         uint32
}

// GatherUses returns an empty collection.
func GatherUses() *UseGatherer {
	return &UseGatherer{at: map[useKey]int{}, gates: map[ID]int{}, tasks: openTasks{by: map[useKey]ID{}, keys: map[ID]useKey{}}}
}

// Add reads one record of an entry and returns the effect that it is about, or nil. The
// next call invalidates what it returned.
func (g *UseGatherer) Add(e *Entry, i int, r *Record) *Use {
	if c := r.Checkpoint; c != nil && c.Kind == KindNode && slices.Contains(strings.Split(c.Labels[labelEffect], "+"), EffectExternal.String()) {
		g.uses = append(g.uses, Use{
			Generation: e.Generation, Branch: c.Branch, Name: c.Node, Status: GrantExecuted, Effect: EffectExternal,
			First: e.Seq, Seq: e.Seq, At: e.Time(), Index: i,
		})
		return &g.uses[len(g.uses)-1]
	}
	s := r.Step
	g.Note(e, r)
	if r.Removal != nil {
		g.endBranches(r.Removal)
	}
	if s == nil || s.Grant == "" && s.Effect != EffectExternal {
		return nil
	}
	name, n, what := s.call()
	switch what {
	case "", useReleased, useFailed, useParked, useClaimed, useUndone:
	default:
		return nil // a failed attempt, or one node of several: the checkpoint says so
	}
	key := useKey{e.Generation, s.Branch, s.Task, name, n}
	at, known := g.at[key]
	if !known {
		at = len(g.uses)
		g.at[key] = at
		g.uses = append(g.uses, Use{
			Generation: e.Generation, Branch: s.Branch, Task: s.Task, Name: name, Occurrence: n, Status: GrantReleased, First: e.Seq,
		})
	}
	u := &g.uses[at]
	u.Seq, u.At, u.Effect, u.Index = e.Seq, e.Time(), s.Effect, i
	if s.Grant != "" {
		u.Grant = s.Grant
	}
	switch what {
	case useReleased:
		u.released++
		u.handler = g.tasks.around(&key)
	case useFailed:
		u.Failed++
		u.waiting = useWaiting{open: u.waiting.open, places: u.waiting.places}
	case useParked:
		u.waiting.parked = s.Occurrence + 1
	case useClaimed, useUndone:
		u.waiting.note(what, e.Seq, i)
	default:
		u.Status = GrantExecuted
	}
	return u
}

// endBranches closes the effects of deleted branches: what another branch of their name does later
// are other effects.
func (g *UseGatherer) endBranches(m *RemovalInfo) {
	for _, h := range m.Heads {
		if h.Head == "" {
			maps.DeleteFunc(g.at, func(k useKey, _ int) bool { return k.branch == h.Branch })
		}
	}
}

// Uses returns what was collected. With held, a run has the thread: an effect without a
// result is then still running.
func (g *UseGatherer) Uses(held bool) []Use {
	for i := range g.uses {
		u := &g.uses[i]
		switch {
		case u.Status == GrantExecuted:
		case u.released <= u.Failed && u.waiting.begun == 0:
			u.Status = GrantDecided
		case u.released <= u.Failed, u.waiting.parked > 0 && int(u.waiting.parked) == u.released:
			u.Status = u.waiting.status()
		case u.handler != "" && g.tasks.isOpen(u.handler): // its worker has it
		case u.handler != "", !held:
			u.Status = GrantUnknown
		}
	}
	if g.uses == nil {
		return []Use{}
	}
	return g.uses
}

// The names of what a step under a grant records.
const (
	useReleased = "$use"    // it is about to act
	useFailed   = "$failed" // it did not act
	useParked   = "$parked" // it waits for something
	useClaimed  = "$claim"  // a worker has a task of it
	useUndone   = "$undone" // that worker says that its attempt did not act
)

// call splits a step's name into the call that the record belongs to, its number, and
// what the record is; "" is the call's own result. A record is the runtime's if the last
// part of its name begins with "$": the calls of a failure's handler are named "$failed>pay".
func (s *StepInfo) call() (name string, n uint32, what string) {
	i := strings.LastIndexByte(s.Name, '>')
	if last := s.Name[i+1:]; strings.HasPrefix(last, "$") {
		if i < 0 {
			return "", 0, last
		}
		name, n = callOf(s.Name[:i])
		return name, n, last
	}
	return s.Name, s.Occurrence, ""
}

// callOf splits a call, as names within it spell it, into its name and its number. The
// number follows the first call in brackets.
func callOf(call string) (name string, n uint32) {
	i := strings.LastIndexByte(call, '[')
	if i <= 0 || !strings.HasSuffix(call, "]") {
		return call, 0
	}
	for _, c := range call[i+1 : len(call)-1] {
		if c < '0' || c > '9' || n > 1<<28 {
			return call, 0
		}
		n = n*10 + uint32(c-'0')
	}
	return call[:i], n
}

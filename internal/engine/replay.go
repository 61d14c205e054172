package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/ledger"
)

// An OrderError says that a replay asked for another step than the one on record. The
// program changed, or its order depends on a map, a clock or goroutines. It matches
// [posthouse.ErrInvalid].
type OrderError struct {
	Thread, Task string
	Asked        string // what the program asks for now
	Recorded     string // what the record has next
}

// Error names both steps and what to do.
func (e *OrderError) Error() string {
	return fmt.Sprintf("posthouse: task %q of thread %q asks for step %q where step %q is on record "+
		"(restore the order of the steps, fork from before the task, or mark steps that run at once with step.Unordered)",
		e.Task, e.Thread, e.Asked, e.Recorded)
}

// Is matches [posthouse.ErrInvalid].
func (e *OrderError) Is(target error) bool { return target == posthouse.ErrInvalid }

// codecWait stands for a wait in the order of a replay. It is not on record.
const codecWait = "posthouse-wait"

// nested separates the names of a call and a step inside it.
const nested = ">"

// reserved begins the names under which models keep records of their own.
const reserved = "$"

type occurrence struct {
	name string
	n    uint32
}

// A replay is what is on record for an execution.
type replay struct {
	results map[occurrence]*posthouse.StepRecord
	gates   map[occurrence]*posthouse.Gate // waits of the program and of the runtime
	asked   []*question                    // what people were asked, in the order of the first gates
	edited  uint64                         // see [core.Execution.Edited]
	order   []*posthouse.StepRecord        // outermost calls as recorded; nil once order no longer matters
	failed  map[occurrence]bool            // calls that failed once in a program that went on; nil for none
	// failures are those of them that the program acted after: what they returned stands.
	failures map[occurrence]*posthouse.StepRecord
	left     int // outermost results and gates not asked for yet; 0 once something new was
}

// newReplay returns what a run on the branch finds. A question that is still open on
// the branch it was forked from is asked anew.
func newReplay(e *core.Execution, branch string) *replay {
	if e == nil || cap(e.Steps)+len(e.Gates) == 0 {
		return nil
	}
	r := &replay{
		results: make(map[occurrence]*posthouse.StepRecord, len(e.Steps)),
		gates:   make(map[occurrence]*posthouse.Gate, len(e.Gates)),
		edited:  e.Edited,
	}
	waits := r.addGates(e, branch)
	for i := range e.Steps {
		s := &e.Steps[i]
		r.order = append(r.order, waits[i]...)
		k := occurrence{s.Name, s.Occurrence}
		if s.Value.Codec != core.CodecFailed && r.results[k] == nil {
			r.results[k] = s // the first result of a call stands
			r.left += outermost(s.Name)
		}
		if !strings.Contains(s.Name, nested) && !s.Loose {
			r.order = append(r.order, s)
		}
		if s.Value.Codec == core.CodecFailed {
			if r.failed == nil {
				r.failed = map[occurrence]bool{}
			}
			r.failed[k] = true
			if delete(r.failures, k); len(s.Value.Data) > 0 { // else it was tried again, or is to be
				r.addFailure(s)
			}
		}
	}
	r.order = append(r.order, waits[len(e.Steps)]...)
	return r
}

// addGates adds the gates. It returns the waits whose place in the order counts, by the
// number of steps that were on record when they began.
func (r *replay) addGates(e *core.Execution, branch string) map[int][]*posthouse.StepRecord {
	waits := map[int][]*posthouse.StepRecord{}
	for _, g := range e.Gates {
		if g.Decision == nil && g.Branch != branch {
			continue
		}
		if g.AsksPeople() {
			r.addQuestion(g)
			continue
		}
		k := occurrence{g.Name, g.Occurrence}
		if isWait(g) && outermost(g.Name) > 0 && !isWait(r.gates[k]) { // a task's later attempt has the place of its first
			n := e.StepsBefore(g.ID)
			waits[n] = append(waits[n], &posthouse.StepRecord{Seq: g.Seq, Step: posthouse.Step{
				Task: g.Task, Name: g.Name, Occurrence: g.Occurrence, Value: posthouse.Value{Codec: codecWait},
			}})
		}
		if r.gates[k] == nil {
			r.left += outermost(g.Name)
		}
		r.gates[k] = g // a reopened gate replaces its original
	}
	return waits
}

func outermost(name string) int {
	if strings.Contains(name, nested) || strings.HasPrefix(name, reserved) {
		return 0
	}
	return 1
}

// countReplayed counts one thing off what is left to replay.
func (r *replay) countReplayed(name string, found bool) {
	if r.left -= outermost(name); r.left < 0 || !found {
		r.left = 0
	}
}

// takeRecord takes the result of a call out of the replay.
func (r *replay) takeRecord(name string, n uint32) *posthouse.StepRecord {
	if r == nil {
		return nil
	}
	s := r.results[occurrence{name, n}]
	if s == nil && isWait(r.gates[occurrence{name, n}]) {
		return nil // its gate is what counts
	}
	r.countReplayed(name, s != nil)
	if i := slices.Index(r.order, s); i == 0 {
		r.order = r.order[1:]
	} else if i > 0 {
		r.order = slices.Delete(r.order, i, i+1)
	}
	return s
}

// takeInOrder is takeRecord for a call whose place in the order counts. If another
// record is next, it returns that instead.
func (r *replay) takeInOrder(name string, n uint32) (s, instead *posthouse.StepRecord) {
	if r == nil {
		return nil, nil
	}
	if s := r.results[occurrence{name, n}]; s != nil && s.Loose {
		return r.takeRecord(name, n), nil
	}
	if len(r.order) > 0 {
		want := r.order[0]
		if want.Name != name || want.Occurrence != n {
			return nil, want
		}
		switch want.Value.Codec {
		case core.CodecFailed:
			r.order = nil // this time it may succeed: anything may follow
		case codecWait:
			r.order = r.order[1:]
		}
	}
	return r.takeRecord(name, n), nil
}

// otherThan returns the record that is next in order if it is not that of a call.
func (r *replay) otherThan(name string, n uint32) *posthouse.StepRecord {
	if s := r.failures[occurrence{name, n}]; len(r.order) == 0 || s != nil && s.Loose {
		return nil
	}
	if want := r.order[0]; want.Name != name || want.Occurrence != n {
		return want
	}
	return nil
}

// takeOfGroup is takeRecord for a call that ran beside others. It was begun in order, but
// its record may stand anywhere behind its place.
func (r *replay) takeOfGroup(name string, n uint32) *posthouse.StepRecord {
	if r == nil {
		return nil
	}
	if r.failed[occurrence{name, n}] {
		i := slices.IndexFunc(r.order, func(s *posthouse.StepRecord) bool {
			return s.Name == name && s.Occurrence == n && s.Value.Codec == core.CodecFailed
		})
		r.order = r.order[:max(i, 0)] // this time it may succeed: anything may follow
	}
	return r.takeRecord(name, n)
}

// isWait reports whether the gate is a wait of the program itself. Its place in the order
// counts like that of a step.
func isWait(g *posthouse.Gate) bool {
	return g != nil && (g.Kind == posthouse.GateTimer || g.Kind == posthouse.GateSignal || g.Kind == posthouse.GateTask)
}

func (r *replay) takeGate(name string, n uint32) *posthouse.Gate {
	if r == nil {
		return nil
	}
	g := r.gates[occurrence{name, n}]
	r.countReplayed(name, g != nil)
	return g
}

// takeWait is takeGate for a wait of the program.
func (r *replay) takeWait(name string, n uint32) *posthouse.Gate {
	if r == nil || !isWait(r.gates[occurrence{name, n}]) {
		return nil
	}
	return r.takeGate(name, n)
}

// A call is one use of a name.
type call struct {
	name       string // in full
	base       string // without the calls around it
	occurrence uint32
	recorded   *posthouse.StepRecord
	failure    *posthouse.StepRecord // that it failed, and the program acted after that
	before     []*failedCall         // what the code that makes it knows of
	failed     *failedCall           // what became of it
	top        bool                  // directly in the task, and its order counts
	beside     bool                  // directly in the task, begun in order, but run beside others
	loose      bool                  // directly in the task, beside whatever else
	grouped    bool                  // its code gets an error later, see [Call.Receive]
	acted      bool                  // its function was called
	selects    bool                  // its record withdraws what was waited for within it
	done       bool
	waits      bool // it ended because something in it waits
}

// beginCall counts a call and finds its result. A free call may come before what the
// record has next: it need not be on record.
func (t *Task) beginCall(ctx context.Context, name string, free bool, c *call) error {
	if err := CheckName("step", name); err != nil {
		return err
	}
	t.Heartbeat()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed.Load() {
		return t.closedError("step", name)
	}
	m := t.made()
	if m.disorder != nil {
		return m.disorder
	}
	c.name, c.base = t.Scoped(ctx, name), name
	if err := checkLength("step", c.name); err != nil {
		return err
	}
	if len(c.name) == len(name) {
		order := ctx.Value(keyOrder)
		c.top, c.beside, c.loose = order == nil, order == beside, order == unordered
	}
	c.before = m.receivedBy(c.name)
	if c.top && m.running != "" {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "step",
			Message: fmt.Sprintf("%q began while step %q of the same task was running", name, m.running),
			Hint:    "mark the context with step.Unordered before running steps at once, or use the context that the outer step was given",
		}
	}
	c.occurrence = next(&m.steps, c.name)
	if c.top && t.replay != nil {
		if instead := t.replay.otherThan(c.name, c.occurrence); instead == nil || free {
			c.failure = t.replay.takeFailure(c.name, c.occurrence)
		}
	} else {
		c.failure = t.replay.takeFailure(c.name, c.occurrence)
	}
	switch {
	case c.failure != nil:
		return nil
	case c.top:
		var instead *posthouse.StepRecord
		if c.recorded, instead = t.replay.takeInOrder(c.name, c.occurrence); instead != nil && !free {
			m.disorder = &OrderError{
				Thread: t.session.thread, Task: t.Key(),
				Asked: c.label(), Recorded: CallName(&instead.Step),
			}
			return m.disorder
		}
	case c.beside:
		c.recorded = t.replay.takeOfGroup(c.name, c.occurrence)
	default:
		if t.replay != nil && len(c.name) == len(name) {
			t.replay.order = nil
		}
		c.recorded = t.replay.takeRecord(c.name, c.occurrence)
	}
	if c.recorded == nil && c.top {
		m.running = c.name
	}
	return nil
}

// endCall ends a call that ran. A call that recorded nothing has failed, which is recorded
// with what follows it.
func (t *Task) endCall(c *call, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.top {
		t.made().running = ""
	}
	if c.done || c.beside && c.waits || !c.top && !c.beside && (c.loose || c.waits) {
		return
	}
	t.noteFailure(c, err)
}

// callName returns how a call is shown: its name, from the second on with its number.
func callName(name string, n uint32) string {
	if n == 0 {
		return name
	}
	return name + "[" + strconv.Itoa(int(n)) + "]"
}

// CallName names one call of a step, as in "price[2]" for the third.
func CallName(s *posthouse.Step) string { return callName(s.Name, s.Occurrence) }

// label returns the call as it is shown.
func (c *call) label() string { return callName(c.name, c.occurrence) }

// within returns the name of a record that the runtime keeps within the call.
func (c *call) within(name string) string { return c.label() + nested + name }

// CheckName checks the name of a step or question. It has 1 to 200 bytes of UTF-8,
// without control characters and '>', and does not begin with $. [posthouse.ErrInvalid].
func CheckName(field, name string) error {
	bad := func(what string) error {
		return posthouse.Invalid(field, "name %.80q %s", name, what)
	}
	switch {
	case name == "":
		return bad("is empty")
	case len(name) > posthouse.MaxID:
		return bad(fmt.Sprintf("is %d bytes long; the limit is %d", len(name), posthouse.MaxID))
	case !utf8.ValidString(name):
		return bad("is not valid UTF-8")
	case strings.Contains(name, nested), strings.ContainsFunc(name, unicode.IsControl):
		return bad("has a control character or '>'")
	case strings.HasPrefix(name, reserved):
		return bad("begins with $, which is the runtime's")
	}
	return nil
}

// maxRecorded is the longest name of a step with those around it, in bytes.
const maxRecorded = 1000

// checkLength refuses a name that cannot be recorded. A name within a step includes that
// step's.
func checkLength(field, name string) error {
	if len(name) <= maxRecorded {
		return nil
	}
	return posthouse.Invalid(field, "name %.80q is %d bytes long; the limit is %d", name, len(name), maxRecorded)
}

// expire records that a deadline passed, or finds what was decided meanwhile.
func expire(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) (*posthouse.Gate, error) {
	e, err := commit.Expire(ctx, l.Core(), g.ID)
	if errors.Is(err, posthouse.ErrDecided) || errors.Is(err, posthouse.ErrExpired) {
		return l.Gate(ctx, g.ID)
	}
	return e, err
}

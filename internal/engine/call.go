package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/engine/internal/replay"
	"github.com/posthouse/posthouse/ledger"
)

// A call is one use of a name.
type call struct {
	name       string // in full
	base       string // without the calls around it
	occurrence uint32
	recorded   *posthouse.StepRecord
	failure    *posthouse.StepRecord // that it failed, and the program acted after that
	after      after                 // what the code that makes it knows of
	failed     *failedCall           // what became of it
	top        bool                  // directly in the task, and its order counts
	beside     bool                  // directly in the task, begun in order, but run beside others
	loose      bool                  // directly in the task, beside whatever else
	grouped    bool                  // its code gets an error later, see [Call.Receive]
	acted      bool                  // its function was called
	horizon    *horizon              // of a select, whose record withdraws what was waited for within it; else nil
	done       bool
	waits      bool // it ended because something in it waits
}

// after is what failed before a call, as the code that makes it knows.
type after struct {
	before []*failedCall // those that are not on record
	known  []*failedCall // those that are
	behind string        // what is on record after the call's own failure, if that stands
	reads  bool          // the call's record says no more than what was read or computed
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
		return closedError("step", name, t.Key())
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
	m.calls++
	c.after.before, c.after.known = m.receivedBy(c.name), m.knownBy(c.name)
	if c.top && m.running != "" {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "step",
			Message: fmt.Sprintf("%q began while step %q of the same task was running", name, m.running),
			Hint:    "mark the context with step.Unordered before running steps at once, or use the context that the outer step was given",
		}
	}
	c.occurrence = next(&m.steps, c.name)
	c.failure, c.after.behind = t.replay.TakeFailure(c.name, c.occurrence, c.top && !free)
	switch {
	case c.failure != nil:
		return nil
	case c.top:
		var instead *posthouse.StepRecord
		c.recorded, instead = t.replay.TakeInOrder(c.name, c.occurrence)
		if instead != nil && !free {
			m.disorder = &OrderError{
				Thread: t.session.Thread(), Task: t.Key(),
				Asked: c.label(), Recorded: replay.StepName(&instead.Step),
			}
			return m.disorder
		}
	case c.beside:
		c.recorded = t.replay.TakeOfGroup(c.name, c.occurrence)
	default:
		if len(c.name) == len(name) {
			t.replay.Unorder()
		}
		c.recorded = t.replay.TakeRecord(c.name, c.occurrence)
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

// CallName names one call of a step, as in "price[2]" for the third.
func CallName(s *posthouse.Step) string { return replay.StepName(s) }

// label returns the call as it is shown.
func (c *call) label() string { return replay.CallName(c.name, c.occurrence) }

// within returns the name of a record that the runtime keeps within the call.
func (c *call) within(name string) string { return c.label() + replay.Nested + name }

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
	case strings.Contains(name, replay.Nested), strings.ContainsFunc(name, unicode.IsControl):
		return bad("has a control character or '>'")
	case strings.HasPrefix(name, replay.Reserved):
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

// expire records that a deadline passed, or finds the decision that came first.
func expire(ctx context.Context, l *ledger.Ledger, g *posthouse.Gate) (*posthouse.Gate, error) {
	e, err := commit.Expire(ctx, l.Core(), g.ID)
	if errors.Is(err, posthouse.ErrDecided) || errors.Is(err, posthouse.ErrExpired) {
		return l.Gate(ctx, g.ID)
	}
	return e, err
}

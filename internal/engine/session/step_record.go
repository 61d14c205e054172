package session

import (
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/senders"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/ledger"
)

// A stepRecord is what is on record since the head's step began. The session's mutex guards it.
type stepRecord struct {
	empty      atomic.Bool                     // nothing is
	executions map[string]*threadlog.Execution // of all tasks; nil: not read yet
	senders    []posthouse.Requester           // of signals that the step follows
}

// begin begins a step: nothing is on record for what follows the head.
func (r *stepRecord) begin() {
	if r.executions == nil {
		r.executions = map[string]*threadlog.Execution{}
	}
	clear(r.executions)
	r.senders = nil
	r.empty.Store(true)
}

// set keeps what was read, and who sent the signals that it has taken.
func (r *stepRecord) set(known map[string]*threadlog.Execution) error {
	r.executions = known
	found, err := senders.Of(known)
	r.senders = senders.Join(r.senders, found)
	return err
}

// forget drops what was read.
func (r *stepRecord) forget() {
	r.empty.Store(false)
	r.executions = nil
}

// add adds what a commit recorded of tasks.
func (r *stepRecord) add(steps []posthouse.Step, c *posthouse.Committed, l *ledger.Ledger) {
	if r.executions == nil {
		return // to be read, with what there was before
	}
	for i := range steps {
		x := r.execution(steps[i].Task)
		x.Steps = append(x.Steps, posthouse.StepRecord{Step: steps[i], Seq: c.Seq, At: l.Now()})
	}
	for _, g := range c.Decided {
		x := r.execution(g.Task)
		x.Gates = append(x.Gates, &g)
	}
}

func (r *stepRecord) execution(task string) *threadlog.Execution {
	r.empty.Store(false)
	x := r.executions[task]
	if x == nil {
		x = &threadlog.Execution{}
		r.executions[task] = x
	}
	return x
}

// decidedAfter returns the questions to people on a branch that somebody answered after an entry.
func (r *stepRecord) decidedAfter(branch string, seq uint64) (decided []posthouse.ID) {
	for _, x := range r.executions {
		for _, g := range x.Gates {
			d := g.Decision
			if d == nil || !g.AsksPeople() || g.Branch != branch || d.Seq <= seq {
				continue
			}
			if d.Verdict != posthouse.Cancel && d.Verdict != posthouse.Expire {
				decided = append(decided, g.ID)
			}
		}
	}
	return decided
}

// stepsAfter returns how many steps after one have something on record.
func (r *stepRecord) stepsAfter(step uint64) int {
	most := step + 1
	for key := range r.executions {
		digits, _, _ := strings.Cut(key, "/")
		digits, _, _ = strings.Cut(digits, "+")
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil {
			most = max(most, n)
		}
	}
	return int(most - step - 1)
}

// noteSender remembers that the step follows a signal of somebody.
func (r *stepRecord) noteSender(signal string, by ...string) {
	r.senders = senders.Add(r.senders, signal, by...)
}

// nameSenders makes the senders of signals that the step follows requesters of what a
// checkpoint of it holds.
func (r *stepRecord) nameSenders(d *ledger.Draft) {
	if c := d.Checkpoint; c != nil && len(r.senders) > 0 {
		c.Requesters = append(slices.Clip(c.Requesters), r.senders...)
	}
}

package coord

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
)

// Names of a request's recorded steps, beside those of the handler's own steps.
const (
	stepRequest = "coord:request"
	stepEmit    = "coord:emit"
	stepAgent   = "agent:" // and agent.skill
)

// A run is one execution of a handler. Checkpoints and results are held until something
// follows them, so that an agent's completion and what the handler does with it are one
// entry.
type run struct {
	c       *Coordinator
	sess    *session.Session
	task    *engine.Task
	session *Session
	req     request
	resumed *posthouse.Header // the head this execution went on from; nil for a new request
	began   time.Time

	mu         sync.Mutex      // commits in the order of events: parallel ones become a chain
	opening    *posthouse.Step // the request's record, until it is committed
	first      posthouse.State // of the request's first checkpoint, if no event is that
	held       held
	due        bool   // held is to be committed before anything else is done
	failure    string // of an agent, if no agent completed since
	conclusion *Result
	ending     bool // the handler has returned
	stopped    bool // the handler was asked to return, to go on elsewhere
	gates      []posthouse.ID
	err        error // the first event or save that failed
}

// held is what happened since the last commit.
type held struct {
	change  *posthouse.Change // nil: the journal selected no event
	steps   []posthouse.Step
	failure *posthouse.Step // of the agent that failed; recorded only if the handler goes on
}

func (r *run) event(kind Kind, cause posthouse.ID) Event {
	e := Event{
		ID: r.c.ledger.Core().NewID(), Kind: kind, Cause: cause, Coordination: r.c.name,
		Thread: r.sess.Thread(), Run: r.sess.Run(), At: r.c.ledger.Now().UTC(),
	}
	if b := r.sess.Branch(); b != posthouse.MainBranch {
		e.Branch = b
	}
	return e
}

// emit journals an event and sends it. A completion is held with the checkpoint that the
// journal makes of the event.
func (r *run) emit(ctx context.Context, e Event, done *completion) error {
	f := *frameFrom(ctx)
	f.done = done
	err := r.c.opt.Journal.Record(f.with(ctx), e)
	r.mu.Lock()
	switch {
	case err != nil && r.err == nil:
		r.err = err
	case err == nil && done != nil && !done.taken:
		r.addCompletion(done)
	}
	r.mu.Unlock()
	r.session.Event(e)
	return err
}

// holdChange holds the checkpoint that a journal made of an event. It commits an earlier
// one first.
func (r *run) holdChange(ctx context.Context, ch *posthouse.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held.change != nil {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.held.change, r.due = ch, true
	if f := frameFrom(ctx); f.done != nil {
		r.addCompletion(f.done)
	}
	return nil
}

// addCompletion holds the result of a completion. Callers hold r.mu.
func (r *run) addCompletion(c *completion) {
	c.taken = true
	if c.fail {
		r.held.failure = &c.step
	} else {
		r.held.steps = append(r.held.steps, c.step)
	}
}

// flushDue commits what is held before the run goes on to act.
func (r *run) flushDue(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.due {
		return r.err
	}
	return r.flush(ctx)
}

// beforeStep commits the request and all that is held before a step acts.
func (r *run) beforeStep(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.due && r.opening == nil {
		return r.err
	}
	return r.flush(ctx)
}

// flush commits what is held as the middle of the request. Callers hold r.mu.
func (r *run) flush(ctx context.Context) error {
	ch := r.held.change
	if ch == nil && r.opening != nil {
		ch = r.change(posthouse.KindEvent)
	}
	if ch != nil {
		ch.Status, ch.Next = posthouse.StatusRunning, []string{r.c.name}
	}
	return r.writeEntry(ctx, ch, nil)
}

// record commits the request, for a runner to go on with.
func (r *run) record(ctx context.Context) (*Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.flush(ctx); err != nil {
		return nil, err
	}
	return r.reply(), nil
}

// writeEntry makes one entry of ch, the gates and what is held. Callers hold r.mu.
func (r *run) writeEntry(ctx context.Context, ch *posthouse.Change, gates []posthouse.Gate) error {
	if r.err != nil {
		return r.err
	}
	d := &ledger.Draft{Checkpoint: ch, Gates: gates}
	if r.opening != nil {
		d.Steps = append(d.Steps, *r.opening)
	}
	d.Steps = append(d.Steps, r.held.steps...)
	if r.ending || ch != nil && ch.Status == posthouse.StatusWaiting {
		d.Steps = append(d.Steps, r.task.Records().Held()...)
	} else if len(d.Steps) > 0 {
		d.Steps = slices.Concat(r.task.Records().Survived(), d.Steps)
	}
	if r.held.failure != nil && !r.ending {
		d.Steps = append(d.Steps, *r.held.failure)
	}
	if ch == nil && len(d.Steps) == 0 {
		r.held, r.due = held{}, false
		return nil
	}
	r.listOpenGates()
	switch {
	case r.ending: // nothing follows it
	case ch != nil && ch.Status == posthouse.StatusWaiting:
		d.Keep = r.task.Gates().Pending()
	default:
		d.Keep = r.task.Gates().Undecided()
	}
	if ch != nil {
		r.complete(ch)
	}
	done, err := r.sess.Commit(ctx, d)
	if err != nil {
		r.err = err
		return err
	}
	for i := range done.Gates {
		r.gates = append(r.gates, done.Gates[i].ID)
	}
	r.opening, r.held, r.due = nil, held{}, false
	return nil
}

// listOpenGates sets the gates that the request waits for already.
func (r *run) listOpenGates() {
	r.gates = nil
	for _, g := range r.task.Gates().Open() {
		r.gates = append(r.gates, g.ID)
	}
}

// complete fills in what all checkpoints of the request have in common.
func (r *run) complete(ch *posthouse.Change) {
	ch.Coordination, ch.Graph, ch.Node = r.c.name, r.c.name, posthouse.EscapeName(r.c.name)
	if len(r.req.Labels) > 0 {
		labels := maps.Clone(r.req.Labels)
		maps.Copy(labels, ch.Labels)
		ch.Labels = labels
	}
	if r.opening != nil {
		ch.By = r.req.By
	}
}

// A RequestState is the state of the checkpoints that a coordinator makes itself, where no
// event was selected. Those are the first of a request that begins with a step or a
// question, and the last of one that ends without an agent.
type RequestState struct {
	Request string          `json:"request"`          // the message
	Result  string          `json:"result,omitempty"` // of [Conclude], or else the text streamed last
	Data    json.RawMessage `json:"data,omitempty"`   // of [Conclude]
	Error   string          `json:"error,omitempty"`
}

// change returns a checkpoint of the coordinator's own. The first of a request
// has the request as its state, others keep their parent's.
func (r *run) change(kind string) *posthouse.Change {
	ch := &posthouse.Change{Kind: kind}
	if r.opening != nil {
		ch.State = r.first
	}
	return ch
}

// sessionError returns the error of a failed save. The run ends even if its handler
// swallows it.
func (r *run) sessionError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = r.sess.Err()
	}
	return r.err
}

func (r *run) reply() *Reply {
	p := &Reply{Thread: r.sess.Thread(), Text: r.session.Text()}
	if head := r.sess.Head(); head != nil {
		p.Checkpoint, p.Status = head.ID, head.Status
	}
	if p.Status == posthouse.StatusWaiting {
		p.Gates = slices.Clone(r.gates)
	}
	if len(p.Gates) > 0 {
		p.Gate = p.Gates[0]
	}
	return p
}

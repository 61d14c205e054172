package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/task"
)

// A reply is the answer to a request that was done, or has to wait.
type reply struct {
	OK      bool            `json:"ok,omitempty"`
	Waiting bool            `json:"waiting,omitempty"` // the program is to end, and runs again
	Value   json.RawMessage `json:"value,omitempty"`   // of a step that is on record, and of a signal
	Answer  *Answer         `json:"answer,omitempty"`  // to a question
	Act     *License        `json:"act,omitempty"`     // of an effect that begins
}

// An Answer is what was decided of a program's question.
type Answer struct {
	Gate    posthouse.ID      `json:"gate"`
	Verdict posthouse.Verdict `json:"verdict"` // one that the question allows, expire or cancel
	Value   json.RawMessage   `json:"value,omitempty"`
	By      string            `json:"by"`
	Reason  string            `json:"reason,omitempty"`
}

// A record is the result of a step that a program asks to put on record.
type record struct {
	Step  string          `json:"step"`
	Value json.RawMessage `json:"value"`
}

// A question is what a program asks people.
type question struct {
	Name      string              `json:"name"`
	Kind      string              `json:"kind"`
	Text      string              `json:"text"`
	Show      json.RawMessage     `json:"show"`
	Schema    json.RawMessage     `json:"schema"`
	Verdicts  []posthouse.Verdict `json:"verdicts"` // without them approve and reject, with a schema all four
	Assignees []string            `json:"assignees"`
	Labels    map[string]string   `json:"labels"`
	Expires   time.Duration       `json:"expires"` // from now, in nanoseconds; 0 is never

	Uses     int           `json:"uses"`     // how many effects its approval licenses
	ValidFor time.Duration `json:"validFor"` // how long after the decision they may begin, in nanoseconds; 0 is for ever
	Edited   posthouse.ID  `json:"edited"`   // the gate with the edit that its own people are asked about
}

// A wait is for a signal to the task's thread.
type wait struct {
	Signal  string        `json:"signal"`
	Latch   bool          `json:"latch"`
	Timeout time.Duration `json:"timeout"` // in nanoseconds; 0: no timeout
}

// records are the steps that a program has asked for and not put on record yet.
type records struct {
	open map[string]*openStep // by name
	acts map[string]*openAct  // as above
	over chan struct{}        // closed when the program has nothing more to say
}

// An openStep is a call of a scope's Do, which waits for the step's result.
type openStep struct {
	result chan posthouse.Value
	ended  chan struct{}
	value  posthouse.Value // once it has ended
	err    error
}

func newRecords() records {
	return records{open: map[string]*openStep{}, acts: map[string]*openAct{}, over: make(chan struct{})}
}

// errUnrecorded ends the call of a step that the program did not record.
var errUnrecorded = errors.New("the program ended before it recorded the step")

// end ends the calls of steps that were not recorded, and of effects that were not ended.
func (r *records) end() {
	close(r.over)
	for _, s := range r.open {
		<-s.ended
	}
	for _, a := range r.acts {
		<-a.ended
	}
}

// scope returns where the task's steps and waits are kept.
func (d *dialogue) scope() (handler.Scope, error) {
	s, ok := handler.From(d.task.Context())
	if !ok {
		return nil, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "the task keeps no steps and waits", Hint: "run the program by a worker"}
	}
	return s, nil
}

// step returns the value of a step that is on record. A step without a value is open: the
// program does it and records it.
func (d *dialogue) step(data []byte) (reply, error) {
	var name string
	if err := json.Unmarshal(data, &name); err != nil {
		return reply{}, posthouse.Invalid("step", "does not parse: %v", err)
	}
	if d.records.open[name] != nil {
		return reply{}, &posthouse.Error{
			Code: posthouse.CodeConflict, Field: "step", Message: "the program asked for step " + name + " before, and has not recorded it", Hint: "record it first",
		}
	}
	scope, err := d.scope()
	if err != nil {
		return reply{}, err
	}
	s := &openStep{result: make(chan posthouse.Value), ended: make(chan struct{})}
	missing := make(chan struct{})
	ctx, over := d.task.Context(), d.records.over
	go func() {
		defer close(s.ended)
		s.value, s.err = scope.Do(ctx, name, posthouse.EffectUnset, func(context.Context) (posthouse.Value, error) {
			close(missing)
			select {
			case v := <-s.result:
				return v, nil
			case <-over:
				return posthouse.Value{}, errUnrecorded
			}
		})
	}()
	select {
	case <-missing:
		d.records.open[name] = s
		return reply{OK: true}, nil
	case <-s.ended:
	}
	if s.err != nil {
		return reply{}, s.err
	}
	if s.value.Codec != posthouse.JSON.Name() {
		return reply{}, posthouse.Invalid("step", "%s is on record as %s: a handler in Go recorded it, and a program reads JSON only", name, s.value.Codec)
	}
	return reply{OK: true, Value: s.value.Data}, nil
}

// record puts the result of an open step on record. One that does not fit leaves it open.
func (d *dialogue) record(data []byte) (reply, error) {
	var r record
	if err := parse("record", data, &r); err != nil {
		return reply{}, err
	}
	s := d.records.open[r.Step]
	if s == nil {
		e := posthouse.Invalid("record", "is of step %.200q, which the program did not ask for", r.Step)
		e.Hint = `print {"step":name} first: the step may be on record`
		return reply{}, e
	}
	value, err := compact(r.Value)
	if err != nil {
		return reply{}, err
	}
	if len(value) > task.MaxStep {
		return reply{}, posthouse.TooLarge("step "+r.Step, len(value), task.MaxStep)
	}
	s.result <- posthouse.Value{Codec: posthouse.JSON.Name(), Data: value}
	<-s.ended
	delete(d.records.open, r.Step)
	return reply{OK: s.err == nil}, s.err
}

// ask returns the answer to a question, [posthouse.ErrWaiting] until there is an answer.
func (d *dialogue) ask(data []byte) (reply, error) {
	var q question
	if err := parse("ask", data, &q); err != nil {
		return reply{}, err
	}
	g, err := q.gate()
	if err != nil {
		return reply{}, err
	}
	scope, err := d.scope()
	if err != nil {
		return reply{}, err
	}
	ask := scope.Ask
	if g.Uses > 0 {
		ask = func(g posthouse.Gate) (*posthouse.Gate, error) { return scope.Propose(g, q.Edited) }
	}
	decided, err := ask(g)
	if err != nil {
		return reply{}, err
	}
	v := decided.Decision
	return reply{OK: true, Answer: &Answer{Gate: decided.ID, Verdict: v.Verdict, Value: v.Value, By: v.By, Reason: v.Reason}}, nil
}

// gate returns the question as an engine opens it. Its time counts from when that takes it.
func (q *question) gate() (g posthouse.Gate, err error) {
	g = posthouse.Gate{Name: q.Name, Kind: q.Kind, Text: q.Text, Verdicts: q.Verdicts, Assignees: q.Assignees, Labels: q.Labels, Uses: q.Uses, ValidFor: q.ValidFor}
	if err := checkTime("expires", q.Expires); err != nil {
		return g, err
	}
	if q.Expires > 0 {
		g.ExpiresAt = handler.Epoch.Add(q.Expires)
	}
	switch {
	case q.Uses < 0 || q.Uses == 0 && (q.ValidFor != 0 || q.Edited != ""):
		return g, posthouse.Invalid("uses", "is %d; it is how many effects the approval licenses, and validFor and edited go with it", q.Uses)
	case q.Uses > 0 && len(q.Show) == 0:
		return g, posthouse.Invalid("show", "is missing: it is what the approval licenses")
	case q.Edited != "" && q.Edited.Validate() != nil:
		return g, posthouse.Invalid("edited", "must be the gate whose edit is asked about")
	}
	if err := checkTime("validFor", q.ValidFor); err != nil {
		return g, err
	}
	if len(g.Verdicts) == 0 && (len(q.Schema) == 0 || q.Uses > 0) {
		g.Verdicts = []posthouse.Verdict{posthouse.Approve, posthouse.Reject}
	}
	for _, v := range g.Verdicts {
		if v.IsAnswer() && q.Uses > 0 {
			return g, posthouse.Invalid("verdicts", "has %s, which licenses no effect", v)
		}
		if !posthouse.KnownVerdict(v) {
			return g, posthouse.Invalid("verdicts", "has %.40q, which is not one of %s", v, posthouse.JoinVerdicts(posthouse.GateVerdicts(), ", "))
		}
	}
	if !posthouse.AsksPeople(q.Kind) {
		return g, posthouse.Invalid("kind", "%.40q asks nobody", q.Kind)
	}
	if len(q.Show) > 0 {
		g.Payload, err = compact(q.Show)
		if err != nil {
			return g, err
		}
	}
	if len(q.Schema) > 0 {
		g.Schema, err = compact(q.Schema)
		if err != nil {
			return g, err
		}
	}
	return g, deciders.Check(&g)
}

// wait returns the next signal of a name, [posthouse.ErrWaiting] until there is a signal.
func (d *dialogue) wait(data []byte) (reply, error) {
	var w wait
	if err := parse("wait", data, &w); err != nil {
		return reply{}, err
	}
	if err := checkTime("timeout", w.Timeout); err != nil {
		return reply{}, err
	}
	scope, err := d.scope()
	if err != nil {
		return reply{}, err
	}
	value, err := scope.Signal(w.Signal, w.Latch, w.Timeout)
	return reply{OK: err == nil, Value: value}, err
}

// parse reads the value of a request strictly.
func parse(field string, data []byte, v any) error {
	r := json.NewDecoder(bytes.NewReader(data))
	r.DisallowUnknownFields()
	if err := r.Decode(v); err != nil {
		return posthouse.Invalid(field, "does not parse: %v", err)
	}
	return nil
}

// compact returns JSON as it is recorded, null for empty data.
func compact(data json.RawMessage) ([]byte, error) {
	if len(data) == 0 {
		return []byte("null"), nil
	}
	return posthouse.JSON.Marshal(data)
}

func checkTime(field string, d time.Duration) error {
	if d < 0 || d > task.MaxPause {
		return posthouse.Invalid(field, "is %s; it is 0 to 100 years", d)
	}
	return nil
}

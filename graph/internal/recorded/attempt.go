package recorded

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// Names under which attempts are on record.
const (
	Attempt = "$attempt" // one failed and another is to come
	Failed  = "$failed"  // the task failed for good, and its handler is to run
)

// Attempts are what is on record of the earlier attempts of a task.
type Attempts struct {
	Count  int
	Due    time.Time // of the next one; zero without a wait
	Failed *string   // the error for the handler; nil if no attempt failed for good
	Cause  string    // the error of the last attempt
}

// Number returns which attempt comes now, from 1. A handler counts as one more than
// the attempt that failed for good.
func (p Attempts) Number() int {
	if p.Failed != nil {
		return p.Count + 2
	}
	return p.Count + 1
}

// ReadAttempts returns what a task has on record of its attempts.
func ReadAttempts(exec *engine.Task) (p Attempts, err error) {
	if exec.Fresh() {
		return p, nil
	}
	for rec, ok := exec.Records().Recorded(Attempt); ok; rec, ok = exec.Records().Recorded(Attempt) {
		var a engine.Attempt
		if err := json.Unmarshal(rec.Value.Data, &a); err != nil {
			return p, err
		}
		p.Count++
		p.Cause = a.Error
		p.Due = time.Time{}
		if a.Due != 0 {
			p.Due = time.UnixMilli(int64(a.Due))
		}
	}
	if rec, ok := exec.Records().Recorded(Failed); ok {
		var a engine.Attempt
		err = json.Unmarshal(rec.Value.Data, &a)
		p.Failed, p.Cause = &a.Error, a.Error
	}
	return p, err
}

// Next returns the record of what follows a failed attempt: another one, or the handler if the
// node has one. Nil means that the task failed for good.
func (p Attempts) Next(cause error, retry engine.Retry, handled bool, now time.Time) (*posthouse.Step, error) {
	if p.Failed != nil {
		return nil, nil // the handler failed
	}
	a, wanted := engine.Attempt{Error: engine.OneLine(cause.Error())}, false
	if p.Count < retry.Retries() {
		if err := engine.Guard(func() error { wanted = retry.Wants(cause); return nil }); err != nil {
			return nil, err
		}
	}
	step := &posthouse.Step{Name: Failed}
	switch {
	case wanted:
		step.Name, step.Occurrence = Attempt, uint32(p.Count)
		if d := retry.Wait(p.Count+1, rand.Float64()); d > 0 {
			a.Due = posthouse.Millis(now.Add(d).UnixMilli())
		}
	case !handled:
		return nil, nil
	}
	data, err := json.Marshal(a)
	step.Value = posthouse.Value{Codec: posthouse.JSON.Name(), Data: data}
	return step, err
}

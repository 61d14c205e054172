package recorded

import (
	"encoding/json"
	"time"

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
	Failed error     // what the handler is told
}

// Number returns which attempt comes now, from 1. A handler counts as one more than
// the attempt that failed for good.
func (p Attempts) Number() int {
	if p.Failed != nil {
		return p.Count + 2
	}
	return p.Count + 1
}

// Error is the error of an attempt as the log has it.
type Error string

// Error returns the recorded text.
func (e Error) Error() string { return string(e) }

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
		p.Due = time.Time{}
		if a.Due != 0 {
			p.Due = time.UnixMilli(int64(a.Due))
		}
	}
	if rec, ok := exec.Records().Recorded(Failed); ok {
		var a engine.Attempt
		err = json.Unmarshal(rec.Value.Data, &a)
		p.Failed = Error(a.Error)
	}
	return p, err
}

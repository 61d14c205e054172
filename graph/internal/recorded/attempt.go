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
	Failed *string   // the error that the handler is told; nil if none failed for good
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
		p.Due = time.Time{}
		if a.Due != 0 {
			p.Due = time.UnixMilli(int64(a.Due))
		}
	}
	if rec, ok := exec.Records().Recorded(Failed); ok {
		var a engine.Attempt
		err = json.Unmarshal(rec.Value.Data, &a)
		p.Failed = &a.Error
	}
	return p, err
}

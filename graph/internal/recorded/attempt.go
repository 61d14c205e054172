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

// Attempts are what is on record of the earlier attempts of a task, nil for nothing.
type Attempts struct {
	Count  int
	Due    time.Time // of the next one; zero without a wait
	Failed error     // what the handler is told
}

// Number returns which attempt comes now, from 1.
func (p *Attempts) Number() int {
	switch {
	case p == nil:
		return 1
	case p.Failed != nil:
		return p.Count + 2 // the handler, behind the attempt that led to it
	}
	return p.Count + 1
}

// Error is the error of an attempt, as it is read back from the log.
type Error string

// Error returns the recorded text.
func (e Error) Error() string { return string(e) }

// ReadAttempts reads them, in the order in which they are on record.
func ReadAttempts(exec *engine.Task) (*Attempts, error) {
	if exec.Fresh() {
		return nil, nil
	}
	p := &Attempts{}
	var a engine.Attempt
	for {
		rec, ok := exec.Records().Recorded(Attempt)
		if !ok {
			break
		}
		a = engine.Attempt{}
		if err := json.Unmarshal(rec.Value.Data, &a); err != nil {
			return nil, err
		}
		p.Count++
		p.Due = time.Time{}
		if a.Due != 0 {
			p.Due = time.UnixMilli(int64(a.Due))
		}
	}
	if rec, ok := exec.Records().Recorded(Failed); ok {
		if err := json.Unmarshal(rec.Value.Data, &a); err != nil {
			return nil, err
		}
		p.Failed = Error(a.Error)
	}
	return p, nil
}

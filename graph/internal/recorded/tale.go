package recorded

import (
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// A Tale is how tasks came to what is put on record of them. The zero value is that of no task.
type Tale struct {
	Began    time.Time // the attempt; of several tasks the first
	Attempts int       // with that one; of several tasks the most
	Cause    string    // why the attempt before failed
}

// Add makes t the tale of another task, too.
func (t *Tale) Add(o Tale) {
	if t.Began.IsZero() || o.Began.Before(t.Began) {
		t.Began = o.Began
	}
	if o.Attempts > t.Attempts {
		t.Attempts, t.Cause = o.Attempts, o.Cause
	}
}

// Story returns the tale as it ends now.
func (t *Tale) Story(now time.Time) posthouse.Story {
	if t.Began.IsZero() {
		return posthouse.Story{}
	}
	return posthouse.Story{Took: now.Sub(t.Began), Attempts: t.Attempts, Error: t.Cause}
}

// Failed returns the tale of an attempt that failed now, with its own error.
func (t *Tale) Failed(now time.Time, cause error) posthouse.Story {
	s := t.Story(now)
	s.Error = engine.OneLine(cause.Error())
	return s
}

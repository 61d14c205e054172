package runs

import (
	"time"

	"github.com/posthouse/posthouse"
)

// Limits of when a run starts, from now on.
const (
	MaxStartAhead = 366 * 24 * time.Hour // a later time is refused
	MaxStartLate  = time.Minute          // an earlier time than this ago is refused; one within it starts the run at once
)

// CheckStartAt checks when a run is to start; zero is at once. [posthouse.ErrInvalid] names field, and says
// that the time is past or beyond [MaxStartAhead].
func CheckStartAt(field string, at, now time.Time) error {
	e := &posthouse.Error{Code: posthouse.CodeInvalid, Field: field}
	switch {
	case at.IsZero():
		return nil
	case at.Before(now.Add(-MaxStartLate)):
		e.Message = "is past: it is " + now.UTC().Format(time.RFC3339) + " now"
		e.Hint = "give a time to come, or none to start at once; up to a minute ago is taken as now"
	case at.After(now.Add(MaxStartAhead)):
		e.Message = "is too far ahead; the limit is 366 days, which is " + now.Add(MaxStartAhead).UTC().Format(time.RFC3339)
		e.Hint = "start it sooner, and let the program sleep until the day"
	default:
		return nil
	}
	return e
}

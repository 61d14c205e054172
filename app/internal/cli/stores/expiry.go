package stores

import (
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
)

// An expiry is a flag that takes how long, or until when.
type expiry struct {
	after env.Span
	until time.Time
}

func (*expiry) Type() string { return "duration or time" }

func (e *expiry) String() string {
	if !e.until.IsZero() {
		return e.until.Format(time.RFC3339)
	}
	return e.after.String()
}

func (e *expiry) Set(v string) error {
	*e = expiry{}
	if at, err := time.Parse(time.RFC3339, v); err == nil {
		e.until = at
		return nil
	}
	if err := e.after.Set(v); err != nil || e.after <= 0 {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Message: strconv.Quote(v) + " is neither how long nor until when",
			Hint: "as in 30d, 2w or 12h, or 2027-01-31T00:00:00Z",
		}
	}
	return nil
}

// at is when the token expires, zero for never.
func (e *expiry) at(now time.Time) time.Time {
	switch {
	case !e.until.IsZero():
		return e.until.UTC().Truncate(time.Second)
	case e.after > 0:
		return now.Add(time.Duration(e.after)).UTC().Truncate(time.Second)
	}
	return time.Time{}
}

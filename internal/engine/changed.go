package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
)

// A ChangedError says that a question shows something else each time its task is executed.
// No answer could then be one to what is asked. It matches [posthouse.ErrInvalid].
type ChangedError struct {
	Thread, Task string
	Question     string
	Gate         posthouse.ID // the one on record
	Field        string       // what differs, as in "payload.amount"
	Before, Now  string       // it, as recorded and as asked now
}

func newChangedError(thread string, g, recorded *posthouse.Gate) *ChangedError {
	e := &ChangedError{Thread: thread, Task: g.Task, Question: g.Name, Gate: recorded.ID}
	if g.Text != recorded.Text {
		e.Field, e.Before, e.Now = "text", recorded.Text, g.Text
		return e
	}
	e.Field, e.Before, e.Now = firstDifference("payload", recorded.Payload, g.Payload)
	return e
}

// Error names the field, both values and what to do.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("posthouse: question %q of task %q of thread %q differs each time it is asked: its %s was %.60q and is %.60q "+
		"(take what it shows from the state or from a recorded step, not from a clock, a random number or the world; gate %s has what was shown)",
		e.Question, e.Task, e.Thread, e.Field, e.Before, e.Now, e.Gate)
}

// Is matches [posthouse.ErrInvalid].
func (e *ChangedError) Is(target error) bool { return target == posthouse.ErrInvalid }

// firstDifference returns the path of the first difference between two JSON values, and
// both sides.
func firstDifference(path string, was, is json.RawMessage) (field, a, b string) {
	var x, y map[string]json.RawMessage
	if json.Unmarshal(was, &x) == nil && json.Unmarshal(is, &y) == nil && x != nil && y != nil {
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			if !sameValue(x[k], y[k]) {
				return firstDifference(path+"."+k, x[k], y[k])
			}
		}
	}
	var l, m []json.RawMessage
	if json.Unmarshal(was, &l) == nil && json.Unmarshal(is, &m) == nil && l != nil && len(l) == len(m) {
		for i := range l {
			if !sameValue(l[i], m[i]) {
				return firstDifference(path+"["+strconv.Itoa(i)+"]", l[i], m[i])
			}
		}
	}
	return path, string(was), string(is)
}

func sameValue(a, b json.RawMessage) bool {
	x, errX := posthouse.CanonicalJSON(a)
	y, errY := posthouse.CanonicalJSON(b)
	return errX == nil && errY == nil && bytes.Equal(x, y) && (a == nil) == (b == nil)
}

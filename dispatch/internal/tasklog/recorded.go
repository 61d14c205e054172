package tasklog

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/internal/license"
	"github.com/posthouse/posthouse/internal/threadlog"
	"github.com/posthouse/posthouse/task"
)

// pageSize bounds a page of records, in bytes of JSON. With it, any step fits into a message.
const pageSize = 512 << 10

// Recorded is what the handlers of a task have put on record in an iteration.
type Recorded struct {
	steps []task.StepResult
	gates []posthouse.Gate
}

// Recorded reads what the handlers of a task have put on record in its iteration: results, and
// failures that stand.
func (l *Log) Recorded(ctx context.Context, g *posthouse.Gate) (*Recorded, error) {
	out := &Recorded{}
	x, err := l.Execution(ctx, g)
	if x == nil || err != nil {
		return out, err
	}
	prefix := Within(g) + handler.Nested
	stand := map[*posthouse.StepRecord]bool{}
	for _, f := range x.Failures() {
		stand[f.Step] = f.Stands()
	}
	for i := range x.Steps {
		if s := &x.Steps[i]; strings.HasPrefix(s.Name, prefix) && (s.Value.Codec != threadlog.CodecFailed || stand[s]) {
			out.steps = append(out.steps, task.StepResult{Name: s.Name, Occurrence: s.Occurrence, Effect: s.Effect, Value: s.Value})
		}
	}
	at := license.Task{Thread: g.Thread, Branch: g.Branch}
	for _, g := range x.Gates {
		if strings.HasPrefix(g.Name, prefix) && at.Finds(g) {
			out.gates = append(out.gates, *g)
		}
	}
	return out, nil
}

// Page adds what fits into a page that begins at a cursor, at least one step or gate if one is
// left, and says where the next one begins.
func (r *Recorded) Page(out *task.Records, at Cursor) error {
	room := pageSize
	fits := func(v any) (bool, error) {
		b, err := json.Marshal(v)
		if err != nil || len(b) > room && room < pageSize {
			return false, err
		}
		room -= len(b)
		return true, nil
	}
	for ; at.steps < len(r.steps); at.steps++ {
		if ok, err := fits(&r.steps[at.steps]); !ok {
			out.Next = at.String()
			return err
		}
		out.Steps = append(out.Steps, r.steps[at.steps])
	}
	for ; at.gates < len(r.gates); at.gates++ {
		if ok, err := fits(&r.gates[at.gates]); !ok {
			out.Next = at.String()
			return err
		}
		out.Gates = append(out.Gates, r.gates[at.gates])
	}
	return nil
}

// A Cursor says where a page begins: after so many steps and gates. Both only grow while the
// task is claimed.
type Cursor struct{ steps, gates int }

func (c Cursor) String() string { return strconv.Itoa(c.steps) + "." + strconv.Itoa(c.gates) }

// ParseCursor reads a cursor, "" for the first page. [posthouse.ErrInvalid] for anything that is
// no cursor.
func ParseCursor(after string) (Cursor, error) {
	if after == "" {
		return Cursor{}, nil
	}
	steps, gates, _ := strings.Cut(after, ".")
	s, err := strconv.ParseUint(steps, 10, 31)
	g, other := strconv.ParseUint(gates, 10, 31)
	if err != nil || other != nil {
		return Cursor{}, posthouse.Invalid("after", "%.40q is not the next of a page of records", after)
	}
	return Cursor{int(s), int(g)}, nil
}

package stream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/verbatim"
)

// The modes of a stream, which clients choose by the parameter modes. They have the names of those of
// [github.com/posthouse/posthouse/runs.StreamMode], and records beside them.
const (
	modeRecords     = "records"     // every record
	modeValues      = "values"      // the state of each checkpoint
	modeUpdates     = "updates"     // what each checkpoint changed
	modeMessages    = "messages"    // text that programs report
	modeCustom      = "custom"      // values that programs and handlers report
	modeCheckpoints = "checkpoints" // of the records, checkpoints
	modeTasks       = "tasks"       // of the records, steps, and gates of tasks with their decisions
)

// allModes are the modes, in the order in which they are documented.
var allModes = []string{modeRecords, modeValues, modeUpdates, modeMessages, modeCustom, modeCheckpoints, modeTasks}

const defaultModes = modeRecords + "," + modeMessages + "," + modeCustom

var modesParam = api.Param{
	Name: "modes", Kind: api.TextParam, Def: defaultModes,
	Help: "what is told, some of " + strings.Join(allModes, ", ") + ", with commas between: all records, of them checkpoints only or what becomes of tasks; the state of each checkpoint, or what it changed; text and other values that programs report while they work",
}

// modes are those that a client chose.
type modes map[string]bool

// modesOf reads the parameter.
func modesOf(r *api.Request) (modes, error) {
	text := defaultModes
	if r.Has(modesParam.Name) {
		text = r.Query[modesParam.Name]
	}
	m := modes{}
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(allModes, name) {
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: modesParam.Name, Message: "has " + quoted(name) + ", which is not a mode", Hint: "they are " + strings.Join(allModes, ", "),
			}
		}
		m[name] = true
	}
	return m, nil
}

// quoted is at most 40 bytes of a text.
func quoted(s string) string { return `"` + strings.ToValidUTF8(s[:min(len(s), 40)], "") + `"` }

// hears reports whether a client wants what is reported while work goes on.
func (m modes) hears(e *Event) bool {
	return e.Message != nil && m[modeMessages] || e.Custom != nil && m[modeCustom]
}

// A teller makes the events that a client chose of records. The zero value but for its fields is ready.
type teller struct {
	ledger *ledger.Ledger
	modes  modes

	parts map[string][sha256.Size]byte // of the checkpoint that was told last, by the parts' names
	last  posthouse.ID
}

// tell returns the events of a record. Only the last has the record's cursor, so that a client that
// loses some of them gets them all again.
func (t *teller) tell(ctx context.Context, e *posthouse.Event) (events []*Event, err error) {
	wanted, err := t.wants(ctx, e)
	if err != nil {
		return nil, err
	}
	if wanted {
		events = append(events, recorded(e))
	}
	if e.Checkpoint != nil && (t.modes[modeValues] || t.modes[modeUpdates]) {
		more, err := t.states(ctx, e)
		if err != nil {
			return nil, err
		}
		events = append(events, more...)
	}
	for i, ev := range events {
		if i < len(events)-1 {
			ev.Cursor = ""
		}
	}
	return events, nil
}

// wants reports whether a client chose a record as such.
func (t *teller) wants(ctx context.Context, e *posthouse.Event) (bool, error) {
	switch {
	case t.modes[modeRecords], t.modes[modeCheckpoints] && e.Checkpoint != nil:
		return true, nil
	case !t.modes[modeTasks]:
		return false, nil
	case e.Gate != nil:
		return e.Gate.Kind == posthouse.GateTask, nil
	case e.Decision != nil:
		g, err := t.ledger.Gate(ctx, e.Decision.Gate)
		return err == nil && g.Kind == posthouse.GateTask, passable(err)
	}
	return e.Step != nil, nil
}

// passable returns an error that is about more than something that was removed since.
func passable(err error) error {
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	return err
}

// states returns the events about the state of a checkpoint. It reads it, and the parent's unless that
// was told last.
func (t *teller) states(ctx context.Context, e *posthouse.Event) (events []*Event, err error) {
	c, err := t.ledger.Get(ctx, e.Checkpoint.ID)
	if err != nil {
		return nil, passable(err)
	}
	before := t.parts
	switch {
	case !t.modes[modeUpdates]:
	case c.Parent == "":
		before = nil
	case c.Parent != t.last:
		parent, err := t.ledger.Get(ctx, c.Parent)
		if passable(err) != nil {
			return nil, err
		}
		before = sums(parent)
	}
	now := sums(c)
	about := func(kind string) *Event {
		return &Event{Kind: kind, Cursor: e.Cursor, Thread: e.Thread, Seq: e.Seq, At: e.At}
	}
	if t.modes[modeValues] {
		ev := about("values")
		ev.Values = values(c, func(string) bool { return true })
		events = append(events, ev)
	}
	if t.modes[modeUpdates] {
		ev := about("update")
		ev.Update = values(c, func(name string) bool { was, had := before[name]; return !had || was != now[name] })
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if _, has := now[name]; !has {
				ev.Update.Dropped = append(ev.Update.Dropped, name)
			}
		}
		events = append(events, ev)
		t.parts, t.last = now, c.ID
	}
	return events, nil
}

// sums returns hashes of a state's parts, nil for no checkpoint.
func sums(c *posthouse.Checkpoint) map[string][sha256.Size]byte {
	if c == nil {
		return nil
	}
	all := make(map[string][sha256.Size]byte, len(c.State))
	for name, v := range c.State {
		all[name] = sha256.Sum256(bytes.Join([][]byte{[]byte(v.Codec), v.Data}, []byte{0}))
	}
	return all
}

// values shows some parts of a state.
func values(c *posthouse.Checkpoint, wanted func(name string) bool) *Values {
	v := &Values{Checkpoint: c.ID, Branch: c.Branch, Node: c.Node, Parts: map[string]json.RawMessage{}}
	if v.Node == "" {
		v.Node = c.Agent
	}
	for name, val := range c.State {
		if !wanted(name) {
			continue
		}
		raw, plain := verbatim.Show(val)
		v.Parts[name] = raw
		if !plain {
			if v.Codecs == nil {
				v.Codecs = map[string]string{}
			}
			v.Codecs[name] = val.Codec
		}
	}
	return v
}

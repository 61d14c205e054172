package frontier

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// A Target is a task to run in the next step.
type Target struct {
	Node  string
	Input *posthouse.Value // of a send; nil for the others
	Was   string           // the node's name when its step began, if a migration changed it since
	Edges bool             // it has run: only its transitions are to be followed
	At    int              // the node's place in App.order, from 1; 0: look it up

	// Key is the name of the task's execution if an update by hand made the step
	// another one while the task was in the middle of it. The execution's records
	// count.
	Key string

	Timeout, IdleTimeout time.Duration // of a send, in place of the node's; 0: the node's
}

// Label names a task within its step, as in "fetch#3". node is escaped in it.
func (t *Target) Label(node string, i int) string {
	node = posthouse.EscapeName(node)
	if t.Input == nil {
		return node
	}
	return node + "#" + strconv.Itoa(i+1)
}

// A TaskJSON is the wire form of a target.
type TaskJSON struct {
	Node  string          `json:"node"`
	Was   string          `json:"was,omitempty"`
	Key   string          `json:"key,omitempty"`   // of its execution, if that began in an earlier step
	Edges bool            `json:"edges,omitempty"` // it has run, and its transitions are to be followed
	Input json.RawMessage `json:"in,omitempty"`    // of codec json
	Codec string          `json:"codec,omitempty"` // of another
	Data  []byte          `json:"data,omitempty"`

	Timeout     time.Duration `json:"timeout,omitempty"` // ns
	IdleTimeout time.Duration `json:"idleTimeout,omitempty"`
}

// WireTask returns the wire form of a target.
func WireTask(t *Target) TaskJSON {
	w := TaskJSON{Node: t.Node, Was: t.Was, Key: t.Key, Edges: t.Edges, Timeout: t.Timeout, IdleTimeout: t.IdleTimeout}
	switch {
	case t.Input == nil:
	case t.Input.Codec == posthouse.JSON.Name():
		w.Input = t.Input.Data
	default:
		w.Codec, w.Data = t.Input.Codec, t.Input.Data
	}
	return w
}

// Target returns the target of a wire form.
func (w *TaskJSON) Target() Target {
	t := Target{Node: w.Node, Was: w.Was, Key: w.Key, Edges: w.Edges, Timeout: w.Timeout, IdleTimeout: w.IdleTimeout}
	switch {
	case w.Codec != "":
		t.Input = &posthouse.Value{Codec: w.Codec, Data: w.Data}
	case w.Input != nil:
		t.Input = &posthouse.Value{Codec: posthouse.JSON.Name(), Data: w.Input}
	}
	return t
}

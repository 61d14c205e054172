package posthouse

import (
	"context"
	"encoding/json"
	"time"
)

// A Program can continue a thread from what is on record: a graph, a coordinator, a
// flow. Package runner keeps programs moving.
type Program interface {
	// Name returns what [Header].Graph says in the program's checkpoints.
	Name() string

	// Advance continues from the branch's head until it parks, ends or fails. A program
	// that fails records that as a checkpoint of status failed; an error it returns is
	// for people to read. It returns [ErrBusy] if somebody else runs the thread, and an error
	// that matches [ErrOtherVersion], with nothing written, if only another version of the
	// program can go on with it.
	Advance(ctx context.Context, thread, branch string) error
}

// A Describer is a [Program] that describes itself. Graphs, flows and coordinators do.
type Describer interface {
	Program

	// Describe returns what the program is. It does not change while the program lives.
	Describe() *ProgramInfo
}

// Kinds of programs, for [ProgramInfo].
const (
	ProgramGraph       = "graph"
	ProgramFlow        = "flow"
	ProgramCoordinator = "coordinator"
	ProgramSubgraph    = "subgraph" // a graph that other graphs call, in threads of its own
	ProgramOther       = "other"    // a program that does not describe itself
)

// A ProgramInfo describes a program. Its schemas are JSON Schema, draft 2020-12. They are made
// from Go types, with the doc tags of fields as descriptions.
type ProgramInfo struct {
	Name        string            `json:"name" doc:"what threads name as their program"`
	Kind        string            `json:"kind" doc:"graph, flow, coordinator, subgraph (called by graphs, in threads of its own) or other"`
	Version     string            `json:"version,omitempty" doc:"the fingerprint of a graph's shape, which its checkpoints name; absent where a program has no versions"`
	Description string            `json:"description,omitempty" doc:"for people: what the program does"`
	Starts      bool              `json:"starts" doc:"whether runs of it are begun with JSON, by POST /api/programs/{program}/runs"`
	Input       json.RawMessage   `json:"input,omitempty" doc:"JSON Schema of what begins a run; absent where the program takes no JSON"`
	State       json.RawMessage   `json:"state,omitempty" doc:"JSON Schema of the parts of a state; absent where only the program knows them"`
	Picture     string            `json:"picture,omitempty" doc:"a graph as the text of a Mermaid flowchart"`
	Graph       json.RawMessage   `json:"graph,omitempty" doc:"a graph to draw: nodes with id (as checkpoints name them; of begins and ends >start and >end), name and kind, and edges with from, to, and a kind where the program decides"`
	Questions   []ProgramQuestion `json:"questions,omitempty" doc:"that the program says it asks, and in a program that is shown alone those that it has asked so far"`
}

// A ProgramQuestion is a question that a program says it asks, or has asked.
type ProgramQuestion struct {
	Name     string          `json:"name" doc:"as its gates name it"`
	Text     string          `json:"text,omitempty" doc:"for people: the question, or what it is about"`
	Payload  json.RawMessage `json:"payload,omitempty" doc:"JSON Schema of what people are shown, and approve"`
	Declared bool            `json:"declared,omitempty" doc:"the program says that it asks this; else text and payload are those of its newest gate, and only of that"`
	Asked    bool            `json:"asked,omitempty" doc:"a gate with this name is on record, among the newest that are looked at; only in a program that is shown alone"`
}

// A JSONStarter is a [Program] that begins runs of inputs that come as JSON, as over HTTP.
// Graphs, flows and coordinators do.
type JSONStarter interface {
	Program

	// StartJSON puts a new thread with its input on record and returns its head. It executes nothing
	// more: the head can run, and the runner of any process goes on with it. JSON is taken strictly:
	// [ErrInvalid] names the field at fault, as in input.lines[0].price, and says what the program
	// takes. A thread that exists already is [ErrExists]. With an error nothing is on record.
	StartJSON(ctx context.Context, thread string, input json.RawMessage, o *StartOptions) (*Header, error)
}

// StartOptions refine [JSONStarter.StartJSON]. Nil is the zero value.
type StartOptions struct {
	By     string            // who sent the input; the run acts on their behalf
	Labels map[string]string // of the input's checkpoint, to find it by
	DryRun bool              // begin nothing: the error says why nothing would begin, and the head is nil

	// StartAt is when the run starts; zero: at once. Until then the thread waits on record for a
	// timer with the name [StartTimer]. Package runs has the limits.
	StartAt time.Time
}

// StartTimer is the name of the gate that a run waits for until its start.
const StartTimer = "start"

// DelaysStart reports whether the gate is what a run waits for until its start.
func (g *Gate) DelaysStart() bool { return g.Kind == GateTimer && g.Name == StartTimer && g.Task == "" }

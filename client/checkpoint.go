package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"

	"github.com/posthouse/posthouse"
)

// A Checkpoint is one state of a thread as the server shows it.
type Checkpoint struct {
	posthouse.Header
	State    json.RawMessage   `json:"state,omitempty"`  // an object of its parts, or, of an opaque state, its value; nil where only headers were asked for
	Codecs   map[string]string `json:"codecs,omitempty"` // of parts that are not JSON: they are base64 in a string
	Parts    []PartSize        `json:"parts,omitempty"`
	Metadata map[string]string `json:"metadata,omitzero"`
	Steps    []*Step           `json:"steps,omitempty"` // on [Client.Checkpoint] only

	Decision *posthouse.Decision `json:"decision,omitempty"`    // on the answer to a decision: what led to it
	Branched *Outcome            `json:"head,omitempty"`        // on answers that waited: where its branch is by now
	Plan     Document            `json:"plan,omitempty"`        // on [Client.Fork] with DryRun: what a fork would do, as JSON
	Resumes  Document            `json:"resumes,omitempty"`     // on [Operations.PlanResume]: what a resume would run and do, as JSON
	Problem  Document            `json:"problem,omitempty"`     // in lists: why its state cannot be read, as JSON
	Trace    string              `json:"traceparent,omitempty"` // the trace context that its run belongs to, as the W3C header has it; with the state only
	TraceID  string              `json:"traceId,omitempty"`     // the id of that trace, 32 hexadecimal digits
	TraceURL string              `json:"traceUrl,omitempty"`    // where people look at that trace, if the server was told where; on [Client.Checkpoint] only
}

// A Step is a record of a step, or the checkpoint itself with what is told of its node.
type Step struct {
	posthouse.Event
	Result      json.RawMessage `json:"result,omitempty"`      // what the step returned, as it is on record; of a codec that is not JSON base64 in a string
	ResultSize  int             `json:"resultSize,omitempty"`  // bytes of it on record
	ResultState string          `json:"resultState,omitempty"` // why it is not there: removed, sealed, or large: the answer has at most 1 MiB of results
}

// A PartSize names a part of a state.
type PartSize struct {
	Name  string `json:"name"`
	Codec string `json:"codec"`
	Size  int    `json:"size"` // bytes
}

// An Outcome says where a branch is.
type Outcome struct {
	posthouse.BranchHead
	Error   string   `json:"error,omitempty"`   // why it failed
	Effects Document `json:"effects,omitempty"` // what acted on the world until then, as JSON
}

// A CheckpointQuery says which checkpoints of a thread to list.
type CheckpointQuery struct {
	Branch string           // of this branch; "" is all
	Status posthouse.Status // made with this status
	Node   string           // made by this node
	Kind   string           // of this kind
	Label  string           // with this label, as name=value
	Oldest bool             // the oldest first
	States bool             // with their states
	Limit  int              // how many; 0 is all
}

// Checkpoints yields the checkpoints of a thread, the newest first.
func (c *Client) Checkpoints(ctx context.Context, thread string, q *CheckpointQuery) iter.Seq2[*Checkpoint, error] {
	if q == nil {
		q = new(CheckpointQuery)
	}
	order, states := "", ""
	if q.Oldest {
		order = "asc"
	}
	if q.States {
		states = "true"
	}
	return exactList[*Checkpoint](ctx, c, ThreadPath(thread, "checkpoints"), given("branch", q.Branch, "status", string(q.Status), "node", q.Node, "kind", q.Kind, "label", q.Label, "order", order, "state", states), q.Limit)
}

// Checkpoint returns a checkpoint with its state, and what is on record of the steps that led to it, with
// what they returned.
// [posthouse.ErrNotFound].
func (c *Client) Checkpoint(ctx context.Context, id posthouse.ID) (*Checkpoint, error) {
	cp := new(Checkpoint)
	return cp, c.ask(ctx, http.MethodGet, checkpointPath(id), given("steps", "true", "results", "true"), nil, cp)
}

func checkpointPath(id posthouse.ID, below ...string) string {
	return "/api/checkpoints" + Path(append([]string{string(id)}, below...)...)
}

// ForkOptions refine [Client.Fork]. Nil is the zero value: the same state, on a new branch.
type ForkOptions struct {
	State  json.RawMessage            // in the place of the state, in the form in which a checkpoint has it
	Patch  map[string]json.RawMessage // parts to replace in the state; the others stay
	Codecs map[string]string          // of parts that are given as base64
	Branch string                     // the new branch's name; fork-1, fork-2, ... unless given
	Thread string                     // fork into this new thread instead
	DryRun bool                       // make no fork, and say in Plan what it would do
	Run    bool                       // resume it at once, and wait as [Client.Resume] does

	// KeepNext keeps the next nodes that the source chose, though the state is another. Otherwise
	// routes and maps of a graph choose again when the fork is resumed.
	KeepNext bool
}

// Fork begins a branch, or a thread, at a checkpoint and returns its first checkpoint.
func (c *Client) Fork(ctx context.Context, id posthouse.ID, o *ForkOptions) (*Checkpoint, error) {
	if o == nil {
		o = new(ForkOptions)
	}
	body := map[string]any{}
	if o.State != nil {
		body["state"] = string(o.State)
	}
	if o.Patch != nil {
		patch := map[string]string{}
		for name, raw := range o.Patch {
			patch[name] = string(raw)
		}
		body["patch"] = patch
	}
	for name, value := range map[string]string{"branch": o.Branch, "thread": o.Thread} {
		if value != "" {
			body[name] = value
		}
	}
	if o.Codecs != nil {
		body["codecs"] = o.Codecs
	}
	if o.KeepNext {
		body["keepNext"] = true
	}
	if o.DryRun {
		body["dryRun"] = true
	}
	if o.Run {
		body["run"] = true
	}
	cp := new(Checkpoint)
	return cp, c.ask(ctx, http.MethodPost, checkpointPath(id, "fork"), nil, body, cp)
}

// Resume runs on an interrupted or failed branch from its head, and waits until it rests. The
// checkpoint has in Branched where it is by then; Branched is nil where that takes longer than the
// server waits: see [Client.Wait].
func (c *Client) Resume(ctx context.Context, head posthouse.ID) (*Checkpoint, error) {
	cp := new(Checkpoint)
	return cp, c.ask(ctx, http.MethodPost, checkpointPath(head, "resume"), nil, nil, cp)
}

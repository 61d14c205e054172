package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/base/traceid"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/verbatim"
	"github.com/posthouse/posthouse/server/problem"
)

// A Checkpoint is a checkpoint as the API shows it, its state as JSON. A state of one
// part called state is opaque and shown as that value; any other is an object with a
// member for each part. A part of another codec is shown as base64 and named in
// Codecs, so nothing inside a state can pass for such a part.
type Checkpoint struct {
	posthouse.Header
	State    json.RawMessage   `json:"state,omitempty" doc:"absent where only headers were asked for"`
	Codecs   map[string]string `json:"codecs,omitempty" doc:"parts that are not JSON: shown as base64"`
	Parts    []PartSize        `json:"parts,omitempty"`
	Metadata map[string]string `json:"metadata,omitzero"`
	Problem  *problem.Details  `json:"problem,omitempty" doc:"in lists: why its state cannot be read"`
	Trace    string            `json:"traceparent,omitempty" doc:"the trace context that its run belongs to, as the W3C header has it; with the state only"`
	TraceID  string            `json:"traceId,omitempty" doc:"the id of that trace, 32 hexadecimal digits"`
	TraceURL string            `json:"traceUrl,omitempty" doc:"where people look at that trace, if the server was told where; on one checkpoint only"`
	Steps    []*Step           `json:"steps,omitempty" doc:"with steps=true: what was recorded of steps on its branch since its parent, oldest first, and last what is told of its node: when attempts began, how many there were, the error before, and notes"`

	Decision *posthouse.Decision `json:"decision,omitempty" doc:"what led to it; on the answer to a decision only"`
	Plan     *ledger.ForkPlan    `json:"plan,omitempty" doc:"what a fork of it would do; on answers to a fork with dryRun only"`
	Resumes  *ledger.ResumePlan  `json:"resumes,omitempty" doc:"what going on from it would run, and do again; on answers to a resume with dryRun only"`
	Branched *Outcome            `json:"head,omitempty" doc:"where its branch is by now; on answers that waited only"`
}

// An Outcome says where a branch is after the work that an answer waited for.
type Outcome struct {
	posthouse.BranchHead
	Error   string       `json:"error,omitempty" doc:"why it failed"`
	Effects []grants.Use `json:"effects,omitempty" doc:"what acted on the world meanwhile, on this branch"`
}

// A PartSize names a part of a state.
type PartSize struct {
	Name  string `json:"name"`
	Codec string `json:"codec"`
	Size  int    `json:"size"` // bytes
}

// view returns a checkpoint as the API shows it.
func view(c *posthouse.Checkpoint) (*Checkpoint, error) {
	v := &Checkpoint{Header: c.Header, Metadata: map[string]string{}, Trace: c.Traceparent()}
	if trace, ok := traceid.Parse(v.Trace); ok {
		v.TraceID = trace.TraceID()
	}
	maps.Copy(v.Metadata, c.Metadata)
	shown := make(map[string]json.RawMessage, len(c.State))
	for _, name := range slices.Sorted(maps.Keys(c.State)) {
		val := c.State[name]
		v.Parts = append(v.Parts, PartSize{name, val.Codec, len(val.Data)})
		raw, plain := verbatim.Show(val)
		if !plain {
			if v.Codecs == nil {
				v.Codecs = map[string]string{}
			}
			v.Codecs[name] = val.Codec
		}
		shown[name] = raw
	}
	if isOpaque(c.State) {
		v.State = shown[posthouse.OpaquePart]
		return v, nil
	}
	raw, err := verbatim.Object(shown)
	if err != nil {
		return nil, fmt.Errorf("checkpoint %s cannot be shown: %w", c.ID, err)
	}
	v.State = raw
	return v, nil
}

func isOpaque(s posthouse.State) bool {
	_, ok := s[posthouse.OpaquePart]
	return ok && len(s) == 1
}

// readState reads a state in the form in which view shows one.
func readState(raw json.RawMessage, codecs map[string]string, opaque bool) (posthouse.State, error) {
	if opaque {
		v, err := readValue("state", raw, codecs[posthouse.OpaquePart])
		return posthouse.State{posthouse.OpaquePart: v}, err
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || parts == nil {
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "state", Message: "must be an object with a member for each part",
			Hint: "this checkpoint's state has parts; see how it is shown",
		}
	}
	return readParts(parts, codecs)
}

func readParts(parts map[string]json.RawMessage, codecs map[string]string) (posthouse.State, error) {
	s := make(posthouse.State, len(parts))
	for name, raw := range parts {
		v, err := readValue(fmt.Sprintf("part %.80s", name), raw, codecs[name])
		if err != nil {
			return nil, err
		}
		s[name] = v
	}
	for name := range codecs {
		if _, ok := s[name]; !ok {
			return nil, posthouse.Invalid("codecs", "names %.80q, which is not among the parts given", name)
		}
	}
	return s, nil
}

func readValue(field string, raw json.RawMessage, codec string) (posthouse.Value, error) {
	if codec == "" || codec == posthouse.JSON.Name() {
		return posthouse.Value{Codec: posthouse.JSON.Name(), Data: raw}, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return posthouse.Value{}, posthouse.Invalid(field, "must be base64 in a string, since its codec is %.40q", codec)
	}
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return posthouse.Value{}, posthouse.Invalid(field, "is not base64")
	}
	return posthouse.Value{Codec: codec, Data: data}, nil
}

package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/strictjson"
	"github.com/posthouse/posthouse/task"
)

// A TaskRequest has the arguments of a call. Each method uses some of the fields.
type TaskRequest struct {
	Hello   *task.Hello       `json:"hello,omitempty" doc:"of connect: who the worker is"`
	Session string            `json:"session,omitempty" doc:"of claim, heartbeat and disconnect"`
	Have    []task.ClaimID    `json:"have,omitempty" doc:"of heartbeat: the claims that the worker has"`
	Claim   *task.ClaimID     `json:"claim,omitempty" doc:"of all calls about a task"`
	Value   []byte            `json:"value,omitzero" doc:"of save: the slot. An empty one is kept as such; without one the slot is cleared"`
	N       uint64            `json:"n,omitempty" doc:"of save: counts the saves of a claim from 1; one behind a later one does nothing. 0 is always written"`
	Thread  string            `json:"thread,omitempty" doc:"of signal: to which thread"`
	Signal  *posthouse.Signal `json:"signal,omitempty" doc:"of signal"`
	Chunk   json.RawMessage   `json:"chunk,omitempty" doc:"of stream"`
	Step    *task.StepResult  `json:"step,omitempty" doc:"of record: the result of a handler's step"`
	Begin   *task.Beginning   `json:"begin,omitempty" doc:"of begin: an effect of the handler under a grant, and which attempt of it this is"`
	End     *task.Ending      `json:"end,omitempty" doc:"of end: what became of that attempt"`
	After   string            `json:"after,omitempty" doc:"of records: the next of the page before, without one the first page"`
	Verdict json.RawMessage   `json:"verdict,omitempty" doc:"of resolve"`

	verdict task.Verdict // as it was parsed
}

// A TaskReply has what a call returns. Each method uses some of the fields.
type TaskReply struct {
	Session *task.Session `json:"session,omitempty" doc:"of connect; times are nanoseconds"`
	Claim   *task.Claim   `json:"claim,omitempty" doc:"of claim; without one no task came"`
	Pulse   *task.Pulse   `json:"pulse,omitempty" doc:"of heartbeat"`
	Value   []byte        `json:"value,omitempty" doc:"of load: the slot, which may be empty; see saved"`
	Records *task.Records `json:"records,omitempty" doc:"of records: a page of what the handler has on record; its next, if any, asks for the next page"`
	Begun   *task.Begun   `json:"begun,omitempty" doc:"of begin: the gate whose decision licenses the effect, if it is to run"`
	Saved   bool          `json:"saved,omitempty" doc:"of load: there is a slot, also if value is empty or missing"`
}

// A Reply has a result or an error.
type Reply struct {
	TaskReply
	Error *posthouse.Error `json:"error,omitempty"`

	// Malformed says that the request did not parse, or was too large.
	Malformed bool `json:"-"`
}

// Serve answers a request with the engine. A request that does not parse is answered with
// [posthouse.ErrInvalid], an error of the engine with its code, any other with
// [posthouse.ErrUnavailable]: the call may be repeated.
func Serve(ctx context.Context, e task.Engine, method string, body []byte) *Reply {
	m := methodOf(method)
	in, err := parse(m, body)
	if err == nil {
		err = in.check(m, method)
	}
	malformed := err != nil
	if err == nil {
		var done *TaskReply
		done, err = in.do(ctx, e, m)
		if err == nil {
			return &Reply{TaskReply: *done}
		}
	}
	var own *posthouse.Error
	if !errors.As(err, &own) {
		own = &posthouse.Error{Code: posthouse.CodeUnavailable, Message: err.Error(), Hint: "try again"}
	}
	return &Reply{Error: own, Malformed: malformed}
}

// Encode returns the reply as JSON.
func (r *Reply) Encode() []byte {
	b, err := encode(r)
	if err != nil {
		b, _ = encode(&Reply{Error: posthouse.Invalid("reply", "does not encode: %v", err)}) // text only
	}
	return b
}

// encode writes JSON in which text is as long as it was: no reader takes it for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Do makes a call that a request asks for. [posthouse.ErrInvalid] names the field that the
// method requires.
func Do(ctx context.Context, e task.Engine, method string, in *TaskRequest) (*TaskReply, error) {
	m := methodOf(method)
	if err := in.check(m, method); err != nil {
		return nil, err
	}
	return in.do(ctx, e, m)
}

func (in *TaskRequest) do(ctx context.Context, e task.Engine, m *Method) (*TaskReply, error) {
	var out TaskReply
	if err := m.call(ctx, e, in, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

// parse reads a request of a method, nil for one that is not known.
func parse(m *Method, body []byte) (*TaskRequest, error) {
	most := MaxRequest
	if m != nil {
		most = m.MaxRequest()
	}
	if len(body) > most {
		return nil, posthouse.TooLarge("request", len(body), most)
	}
	if err := posthouse.CheckStrict("request", body); err != nil {
		return nil, err
	}
	in := new(TaskRequest)
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		if field, message, ok := strictjson.Wrong(err); ok {
			return nil, posthouse.Invalid(cmp.Or(field, "request"), "%s", message)
		}
		return nil, posthouse.Invalid("request", "does not parse: %v", err)
	}
	if name, unknown := strictjson.Unknown(body, reflect.TypeFor[TaskRequest]()); unknown {
		return nil, posthouse.Invalid("request", "has the unknown field %.80q: names are exact", name)
	}
	return in, nil
}

// check reports what a request lacks that its method needs. m is nil if no method has the name.
func (in *TaskRequest) check(m *Method, name string) error {
	if m == nil {
		return posthouse.Invalid("method", "%.40q is not known", name)
	}
	for _, field := range m.needs {
		if !in.has(field) {
			return posthouse.Invalid(field, "is required to %s", name)
		}
	}
	if m.Name != Resolve {
		return nil
	}
	var err error
	in.verdict, err = task.ParseVerdict(in.Verdict)
	return err
}

// has reports whether a request has a field, by its name in JSON.
func (in *TaskRequest) has(field string) bool {
	switch field {
	case "hello":
		return in.Hello != nil
	case "session":
		return in.Session != "" && len(in.Session) <= posthouse.MaxID
	case "claim":
		return in.Claim != nil && in.Claim.Gate.Validate() == nil
	case "thread":
		return in.Thread != ""
	case "signal":
		return in.Signal != nil
	case "chunk":
		return len(in.Chunk) > 0
	case "step":
		return in.Step != nil
	case "begin":
		return in.Begin != nil
	case "end":
		return in.End != nil
	case "verdict":
		return len(in.Verdict) > 0
	}
	return false
}

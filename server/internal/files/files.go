package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/outline"
	"github.com/posthouse/posthouse/server/internal/verbatim"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/transfer"
)

const (
	maxBody = 24 << 20 // of a request: files of up to 18 MiB, in base64
	maxRows = 10_000   // in one answer, the newest
)

// Files is the resource. Make it with [New].
type Files struct {
	store  func() posthouse.Store
	ring   func() (*sign.Ring, error)
	places chan struct{} // one file at a time is in memory
}

// New returns the resource. store makes an empty store in memory; nil: files cannot be looked at.
// ring returns the public keys that signatures are checked with; nil: there are no keys here.
func New(store func() posthouse.Store, ring func() (*sign.Ring, error)) *Files {
	return &Files{store: store, ring: ring, places: make(chan struct{}, 1)}
}

// Routes are the lines of the table.
func (f *Files) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodPost, Path: "/api/files", Role: tokens.Operator, Summary: "Look at an exported thread", Handle: api.Show(f.look),
		Notes: "The file of GET /api/threads/{id}/export, of at most 18 MiB, is read and checked as an import would, and nothing of it is kept. " +
			"Its signatures are checked with the public keys of this server: what no key here signed, the author of a file could have put into it. One file is looked at at a time.",
		Body: body{}, MaxBody: maxBody, Example: json.RawMessage(`{"file":"cG9zdGhvdXNlLXRocmVhZC8xCg=="}`),
		Answers: []api.Answer{{Status: http.StatusOK, Help: "what is in the file", Body: File{}}},
	}}
}

type body struct {
	File       []byte       `json:"file" doc:"the file, in base64"`
	Checkpoint posthouse.ID `json:"checkpoint,omitempty" doc:"show the state of this one as well"`
}

// A File is what is in an exported thread.
type File struct {
	transfer.ThreadFile
	Status   posthouse.Status       `json:"status,omitempty" doc:"of the thread"`
	Graph    string                 `json:"graph,omitempty" doc:"the program"`
	Branches []posthouse.BranchHead `json:"branches" doc:"main first, then by name"`
	Rows     []outline.Row          `json:"rows" doc:"a row for each checkpoint, with details, the newest first, at most 10,000"`
	More     bool                   `json:"more,omitempty" doc:"there are older checkpoints"`
	State    json.RawMessage        `json:"state,omitempty" doc:"of the checkpoint that was named; parts that are not JSON as base64"`
	Before   json.RawMessage        `json:"before,omitempty" doc:"of its parent"`
	Signed   *Signed                `json:"signed,omitempty" doc:"who signed it; absent where a checkpoint is named"`
}

// Signed says who signed a file.
type Signed struct {
	Covered int              `json:"covered" doc:"entries that a valid signature covers, by a key that this server knows"`
	Last    uint64           `json:"last" doc:"the last of these; 0: no entry is covered"`
	Keys    []sign.KeyReport `json:"keys" doc:"that signed entries"`
	Faults  []sign.Fault     `json:"faults" doc:"the first 10 faults: signatures that do not fit, and whatever else is wrong, beside keys that are unknown here"`
}

func (f *Files) look(r *api.Request) (*File, error) {
	var b body
	err := r.Decode(&b)
	if err != nil {
		return nil, err
	}
	if f.store == nil {
		return nil, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "files cannot be looked at here", Hint: "import the file into a store with posthouse thread import"}
	}
	if len(b.File) == 0 {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "file", Message: "is empty", Hint: "give the file of an exported thread, in base64"}
	}
	select {
	case f.places <- struct{}{}:
		defer func() { <-f.places }()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	ring := new(sign.Ring)
	if f.ring != nil {
		ring, err = f.ring()
		if errors.Is(err, posthouse.ErrNotFound) {
			ring, err = new(sign.Ring), nil
		}
		if err != nil {
			return nil, err
		}
	}
	return read(r.Context(), f.store(), &b, ring)
}

// signed verifies a file that was read into a store.
func signed(ctx context.Context, store posthouse.Store, thread string, ring *sign.Ring) (*Signed, error) {
	s := &Signed{Faults: []sign.Fault{}}
	report, err := sign.Verify(ctx, store, ring, &sign.VerifyOptions{Thread: thread, Concurrency: 1, Progress: func(t *sign.ThreadReport) { s.Last = t.Signed }})
	if err != nil {
		return nil, err
	}
	s.Covered, s.Keys = report.Covered, report.Keys
	for _, f := range report.Faults {
		if f.Kind != sign.FaultUnknownKey && len(s.Faults) < mostFaults {
			s.Faults = append(s.Faults, f)
		}
	}
	return s, nil
}

const mostFaults = 10

// read looks at a file by way of an empty store, and closes that.
func read(ctx context.Context, store posthouse.Store, b *body, ring *sign.Ring) (*File, error) {
	defer store.Close()
	l, err := ledger.Open(store, nil)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	file, err := transfer.Import(ctx, l, bytes.NewReader(b.File), nil)
	if errors.Is(err, posthouse.ErrCorrupt) {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "file", Message: "is damaged: " + err.Error(), Hint: "export the thread again"}
	}
	if err != nil {
		return nil, err
	}
	info, err := l.Thread(ctx, file.Thread)
	if err != nil {
		return nil, err
	}
	v := &File{ThreadFile: *file, Status: info.Status, Graph: info.Graph, Branches: info.Branches, Rows: []outline.Row{}}
	if v.Branches == nil {
		v.Branches = []posthouse.BranchHead{}
	}
	for cursor := ""; ; {
		page, err := outline.Read(ctx, l, posthouse.Query{Thread: file.Thread, Descending: true, After: cursor}, 1000, true)
		if err != nil {
			return nil, err
		}
		v.Rows = append(v.Rows, page.Items...)
		cursor = page.Next
		v.More = cursor != "" && len(v.Rows) >= maxRows
		if cursor == "" || v.More {
			break
		}
	}
	if b.Checkpoint == "" {
		v.Signed, err = signed(ctx, store, file.Thread, ring)
		return v, err
	}
	return v, v.show(ctx, l, b.Checkpoint)
}

// show adds the state of a checkpoint, and of its parent.
func (v *File) show(ctx context.Context, l *ledger.Ledger, id posthouse.ID) error {
	c, err := l.Get(ctx, id)
	if err != nil {
		return err
	}
	v.State, err = stateOf(c)
	if err != nil || c.Parent == "" {
		return err
	}
	before, err := l.Get(ctx, c.Parent)
	if err != nil {
		return nil // a parent that is not in the file leaves nothing to compare with
	}
	v.Before, err = stateOf(before)
	return err
}

func stateOf(c *posthouse.Checkpoint) (json.RawMessage, error) {
	shown := make(map[string]json.RawMessage, len(c.State))
	for name, value := range c.State {
		shown[name], _ = verbatim.Show(value)
	}
	if whole, ok := shown[posthouse.OpaquePart]; ok && len(shown) == 1 {
		return whole, nil
	}
	return verbatim.Object(shown)
}

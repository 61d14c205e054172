package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/posthouse/posthouse"
)

// Programs yields the programs of the server, with what they say of themselves.
func (c *Client) Programs(ctx context.Context) iter.Seq2[*posthouse.ProgramInfo, error] {
	return exactList[*posthouse.ProgramInfo](ctx, c, "/api/programs", nil, 0)
}

// Program returns one program. [posthouse.ErrNotFound].
func (c *Client) Program(ctx context.Context, name string) (*posthouse.ProgramInfo, error) {
	p := new(posthouse.ProgramInfo)
	return p, c.ask(ctx, http.MethodGet, ProgramPath(name), nil, nil, p)
}

// StartOptions refine [Client.Start]. Nil is the zero value.
type StartOptions struct {
	Thread string            // its name; a new one unless given
	Labels map[string]string // of the run's first checkpoint, to find it by; at most 15

	// StartAt is when it starts, at most 366 days from now; zero: at once. Until then
	// the thread is on record and waits.
	StartAt time.Time
}

// A Run is one that has begun.
type Run struct {
	Program    string           `json:"program"`
	Thread     string           `json:"thread"`
	Status     posthouse.Status `json:"status"`
	Checkpoint posthouse.ID     `json:"checkpoint,omitempty"` // the thread's head
	StartAt    time.Time        `json:"startAt,omitzero"`     // when it starts; zero once it may have started
	Location   string           `json:"location"`             // the path of the thread
	Events     string           `json:"events"`               // the path of its events
}

// Start begins a run of a program with an input, which is encoded as JSON unless it is a
// [encoding/json.RawMessage]; nil is null. [posthouse.ErrInvalid] names the field that the program does not take,
// [posthouse.ErrExists] says that the thread exists.
func (c *Client) Start(ctx context.Context, program string, input any, o *StartOptions) (*Run, error) {
	if o == nil {
		o = new(StartOptions)
	}
	raw, err := rawJSON("input", input)
	if err != nil {
		return nil, err
	}
	body := struct {
		Input   string            `json:"input"`
		ID      string            `json:"id,omitempty"`
		Labels  map[string]string `json:"labels,omitempty"`
		StartAt time.Time         `json:"startAt,omitzero"`
	}{string(raw), o.Thread, o.Labels, o.StartAt}
	r := new(Run)
	return r, c.ask(ctx, http.MethodPost, ProgramPath(program, "runs"), url.Values{valuesParam: {"text"}}, body, r)
}

// Wait waits until no branch of a thread runs: it waits for an answer, is interrupted, or is over. The
// thread says which.
func (c *Client) Wait(ctx context.Context, thread string) (*Thread, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f, err := c.Follow(ctx, &EventQuery{Thread: thread, Modes: []string{"records"}})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := c.Thread(ctx, thread)
	if err != nil || rests(t) {
		return t, err
	}
	for e, err := range f.Events(ctx) {
		if err != nil && e == nil {
			return nil, err
		}
		if e.Checkpoint == nil && e.Removal == nil && e.Release == nil {
			continue
		}
		t, err = c.Thread(ctx, thread)
		if err != nil || rests(t) {
			return t, err
		}
	}
	return nil, ctx.Err()
}

func rests(t *Thread) bool {
	for _, b := range t.Branches {
		if b.Status.Runnable() {
			return false
		}
	}
	return true
}

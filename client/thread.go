package client

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
)

// A Thread is a summary of a line of work.
type Thread struct {
	posthouse.ThreadInfo
	CreatedAt time.Time  `json:"createdAt"`
	UpdatedAt time.Time  `json:"updatedAt"` // when its last entry was made
	DueAt     *time.Time `json:"dueAt,omitempty"`
	Held      *Hold      `json:"hold,omitempty"` // nothing of it may be removed

	Now     string `json:"now,omitempty"`            // its question, the node that runs, the error, what it waits for, or the newest note
	Unknown int    `json:"unknownEffects,omitempty"` // effects on the world with an unknown outcome

	Release *posthouse.Release `json:"release,omitempty"` // that closed it; of [Operations.Version] only
}

// A Hold keeps a thread from being removed.
type Hold struct {
	By    string    `json:"by"`
	Since time.Time `json:"since"`
	Seq   uint64    `json:"seq"` // of the entry that records it
}

// A ThreadQuery says which threads to list. Nil is the zero value: all, the newest activity first.
type ThreadQuery struct {
	Status  posthouse.Status // with this status
	Program string           // of this program
	Waiting bool             // with open gates
	Text    string           // the beginning of a name or of a label's value, or the ending of a name
	Label   string           // with this label: name=value
	Order   string           // newest, asc or desc; the latter two are by name

	Released bool   // with released versions, also where nothing was begun since
	Unknown  bool   // with effects on the world of an unknown outcome
	Node     string // with a branch that has not ended and is at this node
	Version  string // with a branch that has not ended, of this version of its program

	By    string    // that this person or token began
	Since time.Time // begun then or later; zero: at any time
	Until time.Time // begun before then; zero: at any time

	Limit int // how many; 0 is all
}

// Threads yields threads.
func (c *Client) Threads(ctx context.Context, q *ThreadQuery) iter.Seq2[*Thread, error] {
	if q == nil {
		q = new(ThreadQuery)
	}
	return exactList[*Thread](ctx, c, "/api/threads", given(
		"status", string(q.Status), "graph", q.Program, "waiting", ifSet(q.Waiting), "q", q.Text, "label", q.Label, "order", q.Order,
		"released", ifSet(q.Released), "unknown", ifSet(q.Unknown), "node", q.Node, "version", q.Version,
		"by", q.By, "since", timeText(q.Since), "until", timeText(q.Until)), q.Limit)
}

// timeText returns a time as a parameter has it; the zero time is left out.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// ifSet returns the value of a parameter that is on or left out.
func ifSet(on bool) string {
	if on {
		return "true"
	}
	return ""
}

// given builds a query of names and values without those that are empty.
func given(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// Thread returns a thread. [posthouse.ErrNotFound].
func (c *Client) Thread(ctx context.Context, name string) (*Thread, error) {
	t := new(Thread)
	return t, c.ask(ctx, http.MethodGet, ThreadPath(name), nil, nil, t)
}

// An Entry is one entry of a thread's log.
type Entry struct {
	Seq        uint64             `json:"seq"`
	Generation uint32             `json:"generation"`
	At         time.Time          `json:"at"`
	Hash       posthouse.Hash     `json:"hash"`
	Prev       posthouse.Hash     `json:"prev,omitzero"` // what the entry before must link to
	Signed     bool               `json:"signed"`        // the entry itself is
	Records    []*posthouse.Event `json:"records"`
}

// Log yields the entries of a thread after the one of a number, the oldest first.
func (c *Client) Log(ctx context.Context, thread string, after uint64) iter.Seq2[*Entry, error] {
	q := url.Values{}
	if after > 0 {
		q.Set("cursor", strconv.FormatUint(after, 10))
	}
	return exactList[*Entry](ctx, c, ThreadPath(thread, "log"), q, 0)
}

// Signal sends a signal with a value to a thread. The value is encoded as JSON unless it is a
// [json.RawMessage]. An id, if there is one, is the signal's: sent again with it, it is taken once.
func (c *Client) Signal(ctx context.Context, thread, name string, value any, id posthouse.ID) (*posthouse.Signal, error) {
	raw, err := rawJSON("value", value)
	if err != nil {
		return nil, err
	}
	s := new(posthouse.Signal)
	return s, c.ask(ctx, http.MethodPost, ThreadPath(thread, "signals", name), given("id", string(id)), string(raw), s)
}

// rawJSON encodes a value, unless it is JSON already.
func rawJSON(field string, value any) (json.RawMessage, error) {
	if raw, ok := value.(json.RawMessage); ok {
		return raw, nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "cannot be encoded as JSON", Err: err}
	}
	return raw, nil
}

// Cancel asks the runs of a thread to end, on a branch or, for "", on all.
func (c *Client) Cancel(ctx context.Context, thread, branch, reason string) error {
	return c.ask(ctx, http.MethodPost, ThreadPath(thread, "cancel"), nil, members("branch", branch, "reason", reason), nil)
}

// members builds a body as given builds a query.
func members(pairs ...string) map[string]string {
	body := map[string]string{}
	for name, values := range given(pairs...) {
		body[name] = values[0]
	}
	return body
}

// Release closes a thread's current generation as a version and frees its name.
func (c *Client) Release(ctx context.Context, thread, reason string) (*posthouse.Release, error) {
	r := new(posthouse.Release)
	return r, c.ask(ctx, http.MethodPost, ThreadPath(thread, "releases"), nil, members("reason", reason), r)
}

// DeleteThread removes a thread. A reason goes on record.
func (c *Client) DeleteThread(ctx context.Context, name, reason string) error {
	return c.ask(ctx, http.MethodDelete, ThreadPath(name), given("reason", reason), nil, nil)
}

// download writes an answer that is a file.
func (c *Client) download(ctx context.Context, path string, w io.Writer) error {
	resp, err := c.send(ctx, c.opt.Retries, &request{method: http.MethodGet, path: path, accept: "*/*"})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	if err != nil {
		return c.unreachable(err)
	}
	return nil
}

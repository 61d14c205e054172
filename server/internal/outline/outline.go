package outline

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/usage"
)

// maxRows is how many rows one answer has at most.
const maxRows = 10_000

// An Outline is the resource. Make it with [New].
type Outline struct{ ledger *ledger.Ledger }

// New returns the outlines of a Ledger's threads.
func New(l *ledger.Ledger) *Outline { return &Outline{l} }

// Routes are the lines of the table.
func (o *Outline) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodGet, Path: "/api/threads/{id}/outline", Role: tokens.Viewer, Summary: "Outline a thread", Handle: o.get,
		Notes: "One short row for each checkpoint of all branches, the newest first, 10,000 in one answer: compressed, if Accept-Encoding has gzip. States, metadata and steps are elsewhere. " +
			"With details a page has at most 1,000 rows. What cannot be read, since its key is missing or it was removed, is left out of them.",
		Query: []api.Param{
			{Name: "branch", Kind: api.NameParam, Help: "of this branch"},
			{Name: "generation", Kind: api.IntParam, Help: "of this generation: a released version's number; the current one unless given"},
			{Name: "order", Kind: api.EnumParam, Values: []string{"asc", "desc"}, Def: "desc", Help: "desc is newest first"},
			{Name: "details", Kind: api.BoolParam, Def: "false", Help: "true: with what each checkpoint changed, asked and did to the world"},
			{Name: "limit", Kind: api.IntParam, Max: maxRows, Def: "10000", Help: "how many"},
			{Name: "cursor", Kind: api.TextParam, Help: "go on after this: next of the page before"},
		},
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the rows", Body: api.List[Row]{}, Example: example}},
	}, {
		Method: http.MethodGet, Path: "/api/threads/{id}/usage", Role: tokens.Viewer, Summary: "Add up what a thread used of models", Handle: o.usage,
		Notes:   "Calls, tokens and cost by the notes of its steps, on all of its branches: exactly, by model and by unit. A replay repeats no step, so nothing counts twice. The 20,000 newest entries are read; notes that were removed with their results are absent.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the sums", Body: usage.Usage{}, Example: usageExample}},
	}}
}

var example = json.RawMessage(`{"items":[{"id":"019a2f70-11aa-7000-8c02-2f6a9d3e5b77","seq":5,"branch":"main","parent":"019a2f6e-7c1b-7d1e-8f00-3b7d1c2a9e41","kind":"node","status":"done","node":"pay","at":"2026-11-26T12:03:11.2Z"},` +
	`{"id":"019a2f6e-7c1b-7d1e-8f00-3b7d1c2a9e41","seq":2,"branch":"main","kind":"wait","status":"waiting","node":"analyze","at":"2026-11-26T12:00:00.5Z","gates":["gate-019a2f6e-7c1c-7000-9a01-6f2d8e4b1c33"]}]}`)

// A Row is a checkpoint without its state.
type Row struct {
	ID     posthouse.ID      `json:"id" doc:"the checkpoint"`
	Seq    uint64            `json:"seq" doc:"the number of its entry in the thread's log; gaps are entries without a checkpoint"`
	Branch string            `json:"branch" doc:"the branch it is on"`
	Parent posthouse.ID      `json:"parent,omitempty" doc:"the checkpoint before it: on its branch, or where its branch was forked"`
	Kind   string            `json:"kind" doc:"save, input, node, wait, update, fork, fail or event"`
	Status posthouse.Status  `json:"status,omitempty" doc:"that it was made with"`
	Node   string            `json:"node,omitempty" doc:"the node or agent that made it"`
	At     time.Time         `json:"at" doc:"when it was made"`
	By     string            `json:"by,omitempty" doc:"the person who made it, if a person did"`
	Gates  []posthouse.ID    `json:"gates,omitempty" doc:"questions and other waits that it opened"`
	Source *posthouse.Source `json:"source,omitempty" doc:"of the first checkpoint of a fork: where it was forked"`
	Error  string            `json:"error,omitempty" doc:"why it failed, the first 200 bytes"`
	Size   int               `json:"size,omitempty" doc:"bytes of its state"`

	Next     []string  `json:"next,omitempty" doc:"nodes that run next"`
	Began    time.Time `json:"began,omitzero" doc:"when its node's last attempt began"`
	Attempts int       `json:"attempts,omitempty" doc:"of its node, beyond a first that took less than a millisecond"`
	Detail
}

func rowOf(h *posthouse.Header) Row {
	r := Row{ID: h.ID, Seq: h.Seq, Branch: h.Branch, Parent: h.Parent, Kind: h.Kind, Status: h.Status, Node: h.Node, At: h.CreatedAt.UTC(), By: h.By, Gates: h.Gates, Source: h.Source, Error: cut(h.Error), Size: h.Size, Next: h.Next, Began: h.Began, Attempts: h.Attempts}
	if r.Node == "" {
		r.Node = h.Agent
	}
	return r
}

// cut returns the first 200 bytes of a text, and no half of a character.
func cut(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

func (o *Outline) get(w http.ResponseWriter, r *api.Request) error {
	thread, limit := r.Name("id"), r.Number("limit", maxRows)
	detailed := r.Query["details"] == "true"
	if detailed {
		limit = min(limit, maxDetailed)
	}
	q := posthouse.Query{
		Thread: thread, Branch: r.Query["branch"], Generation: uint32(min(r.Number("generation", 0), 1<<32-1)),
		Descending: r.Query["order"] != "asc", After: r.Query["cursor"],
	}
	page, err := Read(r.Context(), o.ledger, q, limit, detailed)
	if err != nil {
		return err
	}
	if len(page.Items) == 0 && !r.Has("cursor") {
		if _, err := o.ledger.Thread(r.Context(), thread); err != nil {
			return err
		}
	}
	if !acceptsGzip(r.Header.Values("Accept-Encoding")) {
		w.Header().Add("Vary", "Accept-Encoding")
		return api.WriteList(w, r, page)
	}
	page.Next = r.SealCursor(page.Next)
	api.NoteNext(w, r, page.Next)
	return writeCompressed(w, page)
}

// Read returns at most limit rows of the checkpoints that a query finds. Details are of the rows of one
// generation, of which a page then has at most 1,000.
func Read(ctx context.Context, l *ledger.Ledger, q posthouse.Query, limit int, detailed bool) (api.List[Row], error) {
	q.Limit = limit + 1
	headers, next, err := api.Collect(l.List(ctx, q), limit, (*posthouse.Header).Cursor)
	if err != nil {
		return api.List[Row]{}, err
	}
	page := api.List[Row]{Items: make([]Row, len(headers)), Next: next}
	for i, h := range headers {
		page.Items[i] = rowOf(h)
	}
	if detailed {
		err = detail(ctx, l, q.Thread, headers, page.Items)
	}
	return page, err
}

// acceptsGzip reports whether a client takes gzip, and does not refuse it by a weight of 0.
func acceptsGzip(lines []string) bool {
	for _, line := range lines {
		for part := range strings.SplitSeq(line, ",") {
			name, weight, _ := strings.Cut(strings.TrimSpace(part), ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				_, q, weighted := strings.Cut(weight, "q=")
				return !weighted || strings.Trim(q, "0. ") != ""
			}
		}
	}
	return false
}

// writeCompressed answers with v. The whole answer is made before its first byte goes out.
func writeCompressed(w http.ResponseWriter, v any) error {
	var body strings.Builder
	zip := gzip.NewWriter(&body)
	enc := json.NewEncoder(zip)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Encoding", "gzip")
	h.Add("Vary", "Accept-Encoding")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write([]byte(body.String())) // the client may be gone
	return nil
}

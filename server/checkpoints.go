package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/internal/base/traceid"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// checkpoints are /api/checkpoints and /api/diff: what is recorded, and going on from it, also
// from the checkpoint of a gate. Decisions about a checkpoint are those of its gate; see [gates].
type checkpoints struct {
	ledger    *ledger.Ledger
	runner    Runner // nil: this server runs no programs
	outcomes  *outcomes
	pageBytes int // of states on one page of a list
	traces    traceid.Link
}

func (cs *checkpoints) Routes() []*api.Route {
	const path = "/api/checkpoints"
	one := []api.Answer{{Status: http.StatusOK, Help: "the checkpoint", Body: Checkpoint{}, Media: ""}}
	filters := checkpointFilters()
	rs := []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "List checkpoints", Handle: cs.list,
			Notes:   "Answers a JSON array, with the states. The next page's cursor is in the headers Link and X-Next-Cursor; a page may be shorter than its limit. GET /api/threads/{id}/checkpoints answers as other lists do.",
			Query:   append(filters, coordParam, threadParam, stateParam),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of checkpoints", Body: []Checkpoint{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: "/api/threads/{id}/checkpoints", Role: tokens.Viewer, Summary: "List a thread's checkpoints", Handle: cs.listOf,
			Notes:   "The headers, and with state=true the states; then a page may be shorter than its limit.",
			Query:   append(filters, api.FieldsParam(), api.Param{Name: "state", Kind: api.BoolParam, Def: "false", Help: "true: with their states"}),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of checkpoints", Body: api.List[*Checkpoint]{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: path + "/{id}", Role: tokens.Viewer, Summary: "Show a checkpoint", Handle: cs.get,
			Notes: "The ETag is the hash that a decision may be bound to.", Query: append(stepParams(), stateParam), Answers: one,
		},
		{
			Method: http.MethodDelete, Path: path + "/{id}", Role: tokens.Operator, Summary: "Delete a checkpoint", Handle: cs.delete,
			Notes: "With the header Prefer: return=representation the counts are answered, with 200.",
			Query: []api.Param{
				{Name: "mode", Kind: api.EnumParam, Values: deleteModes, Def: deleteModes[0], Help: "what becomes of its children: refuse deletes nothing if there are any, orphan keeps them, subtree deletes them too"},
				reasonParam,
			},
			Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is gone", Body: nil, Media: ""}, {Status: http.StatusOK, Help: "what went", Body: retain.Deleted{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path + "/{id}/fork", Role: tokens.Operator, Summary: "Fork a checkpoint", Handle: cs.forkAny, Patches: true,
			Notes: "Starts a branch, or a thread, at the checkpoint. A fork of what could run, and one that changes the state of what waits, is interrupted: it runs, and asks anew, once it is resumed. With run that is at once. " +
				"A body of application/json-patch+json or application/merge-patch+json changes the state as it is shown, and keeps the bytes of what it does not touch; what a fork takes beside that is then in the parameters. " +
				"409 names the path of an operation that does not fit.",
			Query: []api.Param{{Name: "branch", Kind: api.NameParam, Help: "with a patch: the new branch's name"}, {Name: "thread", Kind: api.NameParam, Help: "with a patch: fork into this new thread instead"}, {Name: "dryRun", Kind: api.BoolParam, Help: "with a patch: true makes no fork, as the member of that name does"}, {Name: "keepNext", Kind: api.BoolParam, Help: "with a patch: true keeps the next nodes, as the member of that name does"}, {Name: "state", Kind: api.BodyParam, Help: "the new state, as text"}, {Name: "run", Kind: api.BoolParam, Def: "false", Help: "true resumes the fork at once, and answers as a resume does"}},
			Body:  forkBody{}, State: true, Answers: []api.Answer{
				{Status: http.StatusOK, Help: "the fork's first checkpoint; with run, the one that follows", Body: Checkpoint{}, Media: ""},
				{Status: http.StatusAccepted, Help: "with run: it is on record; what follows is still running", Body: Accepted{}, Media: ""},
			},
		},
		cs.restartRoute(path),
		{
			Method: http.MethodGet, Path: "/api/diff", Role: tokens.Viewer, Summary: "Compare two checkpoints", Handle: api.Show(cs.diff),
			Query: []api.Param{
				{Name: "a", Kind: api.IDParam, Help: "a checkpoint; required"}, {Name: "b", Kind: api.IDParam, Help: "another; required"},
			},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "what differs", Body: diff.Comparison{}, Media: ""}},
		},
	}
	rs = append(rs, cs.resumeRoutes(path, "")...)
	return append(rs, cs.resumeRoutes("/api/gates", ", by a gate it asks or asked")...)
}

// checkpointFilters are the parameters of lists of checkpoints. They are a new slice for each call.
func checkpointFilters() []api.Param {
	return slices.Clip([]api.Param{
		{Name: "agent", Kind: api.TextParam, Help: "made by this agent"},
		{Name: "run", Kind: api.TextParam, Help: "of this run"}, {Name: "graph", Kind: api.TextParam, Help: "of this program"},
		{Name: "node", Kind: api.TextParam, Help: "made by this node, alone or beside others; in a path, in names with %, +, /, # or > those are escaped as in the answer"}, {Name: "kind", Kind: api.EnumParam, Values: kindValues, Help: "of this kind"},
		{Name: "status", Kind: api.EnumParam, Values: statusValues, Help: "made with this status; waiting: those that still wait, by their threads' summaries"},
		{Name: "branch", Kind: api.NameParam, Help: "of this branch"},
		{Name: "generation", Kind: api.IntParam, Help: "of this generation of its thread: a released version's number; with thread and without this, of the current one"},
		{Name: "label", Kind: api.TextParam, Help: "with this label: name=value, or its name alone beside labelValue"},
		{Name: "labelValue", Kind: api.TextParam, Help: "with label: its value, where the name has a = in it"},
		{Name: "since", Kind: api.TimeParam, Help: "made then or later"}, {Name: "until", Kind: api.TimeParam, Help: "made then or before"},
		orderParam, limitParam, cursorParam,
	})
}

// list answers as an array, with the states unless they are not asked for.
func (cs *checkpoints) list(w http.ResponseWriter, r *api.Request) error {
	page, next, err := cs.page(w, r, r.Query["thread"], r.Query["state"] != "false")
	if err != nil {
		return err
	}
	api.NoteNext(w, r, r.SealCursor(next))
	return api.WriteJSON(w, http.StatusOK, page)
}

// listOf answers as other lists do.
func (cs *checkpoints) listOf(w http.ResponseWriter, r *api.Request) error {
	thread := r.Name("id")
	page, next, err := cs.page(w, r, thread, r.Query["state"] == "true")
	if err != nil {
		return err
	}
	if len(page) == 0 && !r.Has("cursor") {
		if _, err := cs.ledger.Thread(r.Context(), thread); err != nil {
			return err
		}
	}
	return api.WriteList(w, r, api.List[*Checkpoint]{Items: page, Next: next})
}

// page returns a page of checkpoints, of one thread or of all.
func (cs *checkpoints) page(w http.ResponseWriter, r *api.Request, thread string, states bool) (page []*Checkpoint, next string, err error) {
	limit := r.Number("limit", defaultLimit)
	q := posthouse.Query{
		Thread: thread, Coordination: r.Query["coordination"], Run: r.Query["run"], Graph: r.Query["graph"],
		Node: r.Query["node"], Agent: r.Query["agent"], Kind: r.Query["kind"], Branch: r.Query["branch"],
		Status: posthouse.Status(r.Query["status"]), Since: r.Millis("since"), Until: r.Millis("until"),
		Generation: uint32(min(r.Number("generation", 0), 1<<32-1)),
		Descending: r.Query["order"] != "asc", After: r.Query["cursor"], Limit: limit + 1,
	}
	q.Open = q.Status == posthouse.StatusWaiting
	if l, ok := r.Query["label"]; ok && r.Has("labelValue") {
		q.Label, q.LabelValue = l, r.Query["labelValue"]
	} else if ok {
		q.Label, q.LabelValue, ok = strings.Cut(l, "=")
		if !ok || q.Label == "" {
			return nil, "", posthouse.Invalid("label", "must be name=value")
		}
	}
	page = []*Checkpoint{}
	if !states {
		headers, next, err := api.Collect(cs.ledger.List(r.Context(), q), limit, (*posthouse.Header).Cursor)
		for _, h := range headers {
			page = append(page, &Checkpoint{Header: *h})
		}
		return page, next, err
	}
	size := 0
	for c, err := range cs.ledger.ListStates(r.Context(), q) {
		if c == nil {
			return nil, "", err
		}
		if len(page) == limit || len(page) > 0 && size+c.Size > cs.pageBytes {
			return page, page[len(page)-1].Cursor(), nil
		}
		v := &Checkpoint{Header: c.Header}
		if err != nil {
			v.Problem = unread(w, err)
		} else {
			v, err = view(c)
			if err != nil {
				return nil, "", err
			}
		}
		page, size = append(page, v), size+c.Size
	}
	return page, "", nil
}

func (cs *checkpoints) get(w http.ResponseWriter, r *api.Request) error {
	id := r.ID("id")
	if r.Query["state"] == "false" {
		h, err := cs.ledger.GetHeader(r.Context(), id)
		if err != nil || api.Fresh(w, r, h.Hash) {
			return err
		}
		return cs.write(w, r, &Checkpoint{Header: *h})
	}
	c, err := cs.ledger.Get(r.Context(), id)
	if err != nil || api.Fresh(w, r, c.Hash) {
		return err
	}
	v, err := view(c)
	if err != nil {
		return err
	}
	v.TraceURL = cs.traces.To(v.TraceID)
	w.Header().Set("ETag", api.ETag(c.Hash))
	return cs.write(w, r, v)
}

// write answers with a checkpoint, and with its steps if they are asked for.
func (cs *checkpoints) write(w http.ResponseWriter, r *api.Request, v *Checkpoint) (err error) {
	v.Steps, err = readSteps(r, cs.ledger, &v.Header)
	if err != nil {
		return err
	}
	return api.WriteJSON(w, http.StatusOK, v)
}

var deleteModes = []string{"refuse", string(retain.DeleteOrphan), string(retain.DeleteSubtree)}

func (cs *checkpoints) delete(w http.ResponseWriter, r *api.Request) error {
	o := deleteOptions(r)
	if m := r.Query["mode"]; m != deleteModes[0] {
		o.Mode = retain.DeleteMode(m)
	}
	d, err := retain.Delete(r.Context(), cs.ledger, r.ID("id"), o)
	if err != nil {
		return err
	}
	if strings.Contains(r.Header.Get("Prefer"), "return=representation") {
		w.Header().Set("Preference-Applied", "return=representation")
		return api.WriteJSON(w, http.StatusOK, d)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// writeCheckpoint answers with a checkpoint and its ETag.
func writeCheckpoint(w http.ResponseWriter, c *posthouse.Checkpoint) error {
	v, err := view(c)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", api.ETag(c.Hash))
	return api.WriteJSON(w, http.StatusOK, v)
}

func (cs *checkpoints) diff(r *api.Request) (*diff.Comparison, error) {
	for _, name := range []string{"a", "b"} {
		if !r.Has(name) {
			return nil, posthouse.Invalid(name, "is required: a checkpoint's id")
		}
	}
	return diff.Compare(r.Context(), cs.ledger, posthouse.ID(r.Query["a"]), posthouse.ID(r.Query["b"]))
}

package server

import (
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/tokens"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
)

var (
	limitParam  = param{name: "limit", kind: intParam, max: maxLimit, def: "100", help: "how many"}
	orderParam  = param{name: "order", kind: enumParam, values: []string{"asc", "desc"}, def: "desc", help: "desc is newest first, so that what waits is always on the first page"}
	nameOrder   = param{name: "order", kind: enumParam, values: []string{"asc", "desc"}, def: "desc", help: "desc is the last name first"}
	threadParam = param{name: "thread", kind: nameParam, help: "of this thread"}
	coordParam  = param{name: "coordination", kind: nameParam, help: "of this coordination, over all its threads"}
	stateParam  = param{name: "state", kind: boolParam, def: "true", help: "false leaves the states out"}
	cursorParam = param{name: "cursor", kind: textParam, help: "go on behind this: X-Next-Cursor of the page before"}
)

var statusValues = []string{
	string(posthouse.StatusRunning), string(posthouse.StatusWaiting), string(posthouse.StatusReady), string(posthouse.StatusInterrupted),
	string(posthouse.StatusDone), string(posthouse.StatusFailed), string(posthouse.StatusCancelled),
}

func checkpointRoutes() []*route {
	const path = "/api/checkpoints"
	one := []answer{{http.StatusOK, "the checkpoint", Checkpoint{}, ""}}
	return append(slicesOf(
		&route{
			method: http.MethodGet, path: path, role: tokens.Viewer, summary: "List checkpoints", handle: (*Server).listCheckpoints,
			notes: "Answers a JSON array. The next page's cursor is in the headers Link and X-Next-Cursor; a page may be shorter than its limit.",
			query: []param{
				coordParam, {name: "agent", kind: textParam, help: "made by this agent"}, threadParam,
				{name: "run", kind: textParam, help: "of this run"}, {name: "graph", kind: textParam, help: "of this program"},
				{name: "node", kind: textParam, help: "made by this node, alone or beside others; in a path, in names with %, +, /, # or > those are escaped as in the answer"}, {name: "kind", kind: textParam, help: "of this kind: save, input, node, wait, update, fork, fail, event"},
				{name: "status", kind: enumParam, values: statusValues, help: "made with this status; waiting: those that still wait, by their threads' summaries"},
				{name: "branch", kind: nameParam, help: "of this branch"},
				{name: "generation", kind: intParam, help: "of this generation of its thread: a released version's number; with thread and without this, of the current one"},
				{name: "label", kind: textParam, help: "with this label: name=value, or its name alone beside labelValue"},
				{name: "labelValue", kind: textParam, help: "with label: its value, where the name has a = in it"},
				{name: "since", kind: timeParam, help: "made then or later"}, {name: "until", kind: timeParam, help: "made then or before"},
				orderParam, limitParam, cursorParam, stateParam,
			},
			answers: []answer{{http.StatusOK, "a page of checkpoints", []Checkpoint{}, ""}},
		},
		&route{
			method: http.MethodGet, path: path + "/{id}", role: tokens.Viewer, summary: "Show a checkpoint", handle: (*Server).getCheckpoint,
			notes: "The ETag is the hash that a decision may be bound to.", query: []param{stateParam}, answers: one,
		},
		&route{
			method: http.MethodDelete, path: path + "/{id}", role: tokens.Operator, summary: "Delete a checkpoint", handle: (*Server).deleteCheckpoint,
			notes: "With the header Prefer: return=representation the counts are answered, with 200.",
			query: []param{
				{name: "mode", kind: enumParam, values: deleteModes, def: deleteModes[0], help: "what becomes of its children: refuse deletes nothing if there are any, orphan keeps them, subtree deletes them too"},
				{name: "reason", kind: textParam, help: "goes on record"},
			},
			answers: []answer{{http.StatusNoContent, "it is gone", nil, ""}, {http.StatusOK, "what went", posthouse.Deleted{}, ""}},
		},
		&route{
			method: http.MethodPost, path: path + "/{id}/fork", role: tokens.Operator, summary: "Fork a checkpoint", handle: (*Server).forkCheckpoint,
			notes: "Starts a branch, or a thread, at the checkpoint. A fork of what could run, and one that changes the state of what waits, is interrupted: it runs, and asks anew, once it is resumed. With run that is at once.",
			query: []param{{name: "state", kind: bodyParam, help: "the new state, as text"}, {name: "run", kind: boolParam, def: "false", help: "true resumes the fork at once, and answers as a resume does"}},
			body:  forkBody{}, state: true, answers: []answer{
				{http.StatusOK, "the fork's first checkpoint; with run, the one that follows", Checkpoint{}, ""},
				{http.StatusAccepted, "with run: it is on record; what follows is still running", Accepted{}, ""},
			},
		},
		anewRoute(path),
	), goOnRoutes(path, "")...)
}

// slicesOf lets a table read as one.
func slicesOf(rs ...*route) []*route { return rs }

func (s *Server) listCheckpoints(w http.ResponseWriter, r *request) error {
	limit := r.number("limit", defaultLimit)
	q := posthouse.Query{
		Thread: r.query["thread"], Coordination: r.query["coordination"], Run: r.query["run"], Graph: r.query["graph"],
		Node: r.query["node"], Agent: r.query["agent"], Kind: r.query["kind"], Branch: r.query["branch"],
		Status: posthouse.Status(r.query["status"]), Since: r.millis("since"), Until: r.millis("until"),
		Generation: uint32(min(r.number("generation", 0), 1<<32-1)),
		Descending: r.query["order"] != "asc", After: r.query["cursor"], Limit: limit + 1,
	}
	q.Open = q.Status == posthouse.StatusWaiting
	if l, ok := r.query["label"]; ok && r.has("labelValue") {
		q.Label, q.LabelValue = l, r.query["labelValue"]
	} else if ok {
		if q.Label, q.LabelValue, ok = strings.Cut(l, "="); !ok || q.Label == "" {
			return strict.Invalid("label", "must be name=value")
		}
	}
	if r.query["state"] == "false" {
		return s.listHeaders(w, r, q, limit)
	}
	page, size, next := []*Checkpoint{}, 0, ""
	for c, err := range s.ledger.ListStates(r.Context(), q) {
		if c == nil {
			return err
		}
		if len(page) == limit || len(page) > 0 && size+c.Size > s.limits.Page {
			next = page[len(page)-1].Cursor()
			break
		}
		v := &Checkpoint{Header: c.Header}
		if err != nil {
			v.Error = unread(w, err)
		} else if v, err = view(c); err != nil {
			return err
		}
		page, size = append(page, v), size+c.Size
	}
	return writePage(w, r, page, next)
}

func (s *Server) listHeaders(w http.ResponseWriter, r *request, q posthouse.Query, limit int) error {
	page, next := []*Checkpoint{}, ""
	for h, err := range s.ledger.List(r.Context(), q) {
		if err != nil {
			return err
		}
		if len(page) == limit {
			next = page[len(page)-1].Cursor()
			break
		}
		page = append(page, &Checkpoint{Header: *h})
	}
	return writePage(w, r, page, next)
}

func (s *Server) getCheckpoint(w http.ResponseWriter, r *request) error {
	id, err := r.id("id")
	if err != nil {
		return err
	}
	if r.query["state"] == "false" {
		h, err := s.ledger.GetHeader(r.Context(), id)
		if err != nil || fresh(w, r, h.Hash) {
			return err
		}
		return writeJSON(w, http.StatusOK, &Checkpoint{Header: *h})
	}
	c, err := s.ledger.Get(r.Context(), id)
	if err != nil || fresh(w, r, c.Hash) {
		return err
	}
	v, err := view(c)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, v)
}

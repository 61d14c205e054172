package server

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/tokens"
)

func threadRoutes() []*route {
	const path = "/api/threads"
	reason := param{name: "reason", kind: textParam, help: "goes on record"}
	deleted := []answer{{http.StatusOK, "what went", posthouse.Deleted{}, ""}}
	return []*route{
		{
			method: http.MethodGet, path: path, role: tokens.Viewer, summary: "List threads", handle: (*Server).listThreads,
			notes: "By name, the last first: ids that Posthouse makes are in the order of time. The next page's cursor is in the headers Link and X-Next-Cursor.",
			query: []param{
				{name: "status", kind: enumParam, values: statusValues, help: "with this status"},
				{name: "graph", kind: textParam, help: "of this program"},
				{name: "waiting", kind: boolParam, def: "false", help: "true: with open gates only"},
				{name: "released", kind: boolParam, def: "false", help: "true: with released versions only, also those that have not begun anew"}, nameOrder, limitParam, cursorParam,
			},
			answers: []answer{{http.StatusOK, "a page of threads", []posthouse.ThreadInfo{}, ""}},
		},
		{
			method: http.MethodGet, path: path + "/{id}", role: tokens.Viewer, summary: "Show a thread", handle: (*Server).getThread,
			answers: []answer{{http.StatusOK, "the thread's summary", posthouse.ThreadInfo{}, ""}},
		},
		{
			method: http.MethodGet, path: path + "/{id}/log", role: tokens.Viewer, summary: "Read a thread's log", handle: (*Server).threadLog,
			notes:   "Every record, in the log's order; each entry was checked against its hash.",
			query:   []param{{name: "order", kind: enumParam, values: []string{"asc", "desc"}, def: "asc", help: "desc is newest first"}, limitParam, {name: "cursor", kind: intParam, help: "go on behind this sequence number: X-Next-Cursor of the page before"}},
			answers: []answer{{http.StatusOK, "a page of entries", []LogEntry{}, ""}},
		},
		{
			method: http.MethodDelete, path: path + "/{id}", role: tokens.Operator, summary: "Delete a thread", handle: (*Server).deleteThread,
			notes: "Threads whose end it waited for are cancelled. If that fails the thread is gone all the same, and the answer has an error beside the counts.",
			query: []param{reason}, answers: []answer{{http.StatusOK, "what went", DeletedThread{}, ""}},
		},
		{
			method: http.MethodDelete, path: "/api/coordinations/{name}", role: tokens.Operator, summary: "Delete a coordination's checkpoints", handle: (*Server).deleteCoordination,
			query: []param{reason}, answers: deleted,
		},
	}
}

func (s *Server) listThreads(w http.ResponseWriter, r *request) error {
	after, err := url.PathUnescape(r.query["cursor"])
	if err != nil {
		return strict.Invalid("cursor", "is not one that this path gave out")
	}
	limit, next, page := r.number("limit", defaultLimit), "", []*posthouse.ThreadInfo{}
	for t, err := range s.ledger.Threads(r.Context(), posthouse.ThreadQuery{
		Status: posthouse.Status(r.query["status"]), Graph: r.query["graph"], Waiting: r.query["waiting"] == "true", Released: r.query["released"] == "true",
		Descending: r.query["order"] != "asc", After: after, Limit: limit + 1,
	}) {
		if err != nil {
			return err
		}
		if len(page) == limit {
			next = url.PathEscape(page[len(page)-1].Thread) // for a header
			break
		}
		page = append(page, t)
	}
	return writePage(w, r, page, next)
}

func (s *Server) getThread(w http.ResponseWriter, r *request) error {
	id, err := r.name("id")
	if err != nil {
		return err
	}
	t, err := s.ledger.Thread(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, t)
}

// A LogEntry is an entry of a thread's log as the API shows it.
type LogEntry struct {
	Seq        uint64             `json:"seq"`
	Generation uint32             `json:"generation" doc:"the thread's generation; a released one is the version of that number"`
	At         time.Time          `json:"at"`
	Hash       posthouse.Hash     `json:"hash"`
	Prev       posthouse.Hash     `json:"prev,omitzero" doc:"what the entry before must link to"`
	Signed     bool               `json:"signed" doc:"whether the entry itself is signed; verify says what signatures cover"`
	Records    []*posthouse.Event `json:"records"`
}

func (s *Server) threadLog(w http.ResponseWriter, r *request) error {
	thread, err := r.name("id")
	if err != nil {
		return err
	}
	limit, next, page, size := r.number("limit", defaultLimit), "", []*LogEntry{}, 0
	rng := posthouse.Range{Reverse: r.query["order"] == "desc", Limit: limit + 1}
	if c := r.number("cursor", 0); c > 0 && rng.Reverse {
		if rng.To = uint64(c) - 1; rng.To == 0 {
			return writePage(w, r, page, "")
		}
	} else if c > 0 {
		rng.From = uint64(c) + 1
	}
	for e, err := range s.ledger.Log(r.Context(), thread, rng) {
		if err != nil {
			return err
		}
		if len(page) == limit || len(page) > 0 && size > s.limits.Page {
			next = strconv.FormatUint(page[len(page)-1].Seq, 10)
			break
		}
		for i := range e.Records {
			if k := e.Records[i].Kind; k == posthouse.RecordGate || k == posthouse.RecordDecision || k == posthouse.RecordSignal {
				size += e.Records[i].Size
			}
		}
		page = append(page, &LogEntry{Seq: e.Seq, Generation: e.Generation, At: e.At, Hash: e.Hash, Prev: e.Prev, Signed: len(e.Sig) > 0, Records: e.Events})
	}
	if len(page) == 0 && !r.has("cursor") { // the log of a deleted thread still has its last record
		return notFound("thread", thread)
	}
	return writePage(w, r, page, next)
}

// A DeletedThread says what a thread's deletion took.
type DeletedThread struct {
	posthouse.Deleted
	Error *Problem `json:"error,omitempty" doc:"what failed once the thread was gone, such as cancelling what it waited for"`
}

func (s *Server) deleteThread(w http.ResponseWriter, r *request) error {
	id, err := r.name("id")
	if err != nil {
		return err
	}
	d, err := s.ledger.DeleteThread(r.Context(), id, &posthouse.DeleteOptions{By: r.actor.Name, Reason: r.query["reason"]})
	if d == nil {
		return err
	}
	out := DeletedThread{Deleted: *d}
	if err != nil {
		out.Error = unread(w, err)
		out.Error.Detail = "the thread is gone; what came after that failed: " + out.Error.Detail
	}
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) deleteCoordination(w http.ResponseWriter, r *request) error {
	name, err := r.name("name")
	if err != nil {
		return err
	}
	d, err := s.ledger.DeleteCoordination(r.Context(), name, &posthouse.DeleteOptions{By: r.actor.Name, Reason: r.query["reason"]})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, d)
}

package server

import (
	"net/http"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/tokens"
)

func releaseRoutes() []*route {
	const path = "/api/threads/{id}"
	one := []answer{{http.StatusOK, "the release", posthouse.Release{}, ""}}
	return []*route{
		{
			method: http.MethodGet, path: path + "/releases", role: tokens.Viewer, summary: "List a thread's released versions", handle: (*Server).listReleases,
			notes:   "Newest first; also of a thread that was released and has not begun anew. Dropped ones are among them.",
			query:   []param{limitParam, {name: "cursor", kind: intParam, help: "go on behind this version: X-Next-Cursor of the page before"}},
			answers: []answer{{http.StatusOK, "a page of releases", []posthouse.Release{}, ""}},
		},
		{
			method: http.MethodPost, path: path + "/releases", role: tokens.Operator, summary: "Release a thread", handle: (*Server).releaseThread,
			notes: "Closes the current generation as a version and frees the thread's name. Open gates are cancelled, and threads whose end it waited for. If that fails the version is made all the same, and the answer has an error beside it.",
			body:  releaseBody{}, answers: []answer{{http.StatusOK, "the version", Released{}, ""}},
		},
		{
			method: http.MethodGet, path: path + "/releases/{version}", role: tokens.Viewer, summary: "Show a released version", handle: (*Server).getRelease,
			notes: "By its number, or by a tag: then the newest that has it.", answers: one,
		},
		{
			method: http.MethodDelete, path: path + "/releases/{version}", role: tokens.Operator, summary: "Drop a released version", handle: (*Server).dropRelease,
			notes:   "All that the version holds goes; its release stays on record.",
			query:   []param{{name: "reason", kind: textParam, help: "goes on record"}},
			answers: []answer{{http.StatusOK, "what went", posthouse.Deleted{}, ""}},
		},
		{
			method: http.MethodPost, path: path + "/copy", role: tokens.Operator, summary: "Copy a thread", handle: (*Server).copyThread,
			notes: "A new thread with the whole visible history: each checkpoint under a new id that names its original. Waiting gates are asked again; nothing runs until it is resumed.",
			body:  copyBody{}, answers: []answer{{http.StatusOK, "the new thread", posthouse.ThreadInfo{}, ""}},
		},
	}
}

// A Released is the version that a thread was closed as.
type Released struct {
	posthouse.Release
	Error *Problem `json:"error,omitempty" doc:"what failed once the version was made, such as cancelling what the thread waited for"`
}

// A releaseBody says how to release.
type releaseBody struct {
	Tags   []string `json:"tags,omitempty" doc:"names for the version beside its number"`
	Reason string   `json:"reason,omitempty" doc:"goes on record"`
	Failed bool     `json:"failed,omitempty" doc:"the work failed"`
}

func (s *Server) releaseThread(w http.ResponseWriter, r *request) error {
	id, err := r.name("id")
	if err != nil {
		return err
	}
	var b releaseBody
	if err := r.decode(&b); err != nil {
		return err
	}
	rel, err := s.ledger.Release(r.Context(), id, &posthouse.ReleaseOptions{Tags: b.Tags, Reason: b.Reason, Failed: b.Failed, By: r.actor.Name})
	if rel == nil {
		return err
	}
	out := Released{Release: *rel}
	if err != nil {
		out.Error = unread(w, err)
		out.Error.Detail = "the version is made; what came after that failed: " + out.Error.Detail
	}
	return writeJSON(w, http.StatusOK, out)
}

func (s *Server) listReleases(w http.ResponseWriter, r *request) error {
	id, err := r.name("id")
	if err != nil {
		return err
	}
	limit, after, next, page := r.number("limit", defaultLimit), r.number("cursor", 0), "", []*posthouse.Release{}
	for rel, err := range s.ledger.Releases(r.Context(), id) {
		if err != nil {
			return err
		}
		if after > 0 && int(rel.Version) >= after {
			continue
		}
		if len(page) == limit {
			next = strconv.Itoa(int(page[len(page)-1].Version))
			break
		}
		page = append(page, rel)
	}
	if len(page) == 0 && after == 0 {
		if _, err := s.ledger.Thread(r.Context(), id); err != nil {
			return err
		}
	}
	return writePage(w, r, page, next)
}

// version reads the path of one release.
func (r *request) version() (thread, version string, err error) {
	id, err := r.name("id")
	if err != nil {
		return "", "", err
	}
	v, err := r.id("version")
	return id, string(v), err
}

func (s *Server) getRelease(w http.ResponseWriter, r *request) error {
	thread, version, err := r.version()
	if err != nil {
		return err
	}
	rel, err := s.ledger.ReleaseOf(r.Context(), thread, version)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, rel)
}

func (s *Server) dropRelease(w http.ResponseWriter, r *request) error {
	thread, version, err := r.version()
	if err != nil {
		return err
	}
	d, err := s.ledger.DropRelease(r.Context(), thread, version, &posthouse.DeleteOptions{By: r.actor.Name, Reason: r.query["reason"]})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, d)
}

// A copyBody says where a copy goes.
type copyBody struct {
	Thread  string `json:"thread" doc:"the new thread's name"`
	Version uint32 `json:"version,omitempty" doc:"copy this released version instead of the current generation"`
}

func (s *Server) copyThread(w http.ResponseWriter, r *request) error {
	id, err := r.name("id")
	if err != nil {
		return err
	}
	var b copyBody
	if err := r.decode(&b); err != nil {
		return err
	}
	if b.Thread == "" {
		if _, err := s.ledger.Thread(r.Context(), id); err != nil {
			return err
		}
		return strict.Invalid("thread", "is required: the new thread's name")
	}
	info, err := s.ledger.CopyThread(r.Context(), id, b.Thread, &posthouse.CopyOptions{Version: b.Version})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, info)
}

package server

import (
	"net/http"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/transfer"
)

// releases are /api/threads/{id}/releases and copy: a thread's versions, and copies of it.
type releases struct{ ledger *ledger.Ledger }

func (rs *releases) Routes() []*api.Route {
	const path = "/api/threads/{id}"
	one := []api.Answer{{Status: http.StatusOK, Help: "the release", Body: posthouse.Release{}, Media: ""}}
	return []*api.Route{
		{
			Method: http.MethodGet, Path: path + "/releases", Role: tokens.Viewer, Summary: "List a thread's released versions", Handle: rs.list,
			Notes:   "Newest first; also of a thread that was released and has not begun anew. Dropped ones are among them.",
			Query:   []api.Param{limitParam, {Name: "cursor", Kind: api.IntParam, Help: "go on after this version: next of the page before"}, fieldsParam},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "a page of releases", Body: api.List[*posthouse.Release]{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path + "/releases", Role: tokens.Operator, Summary: "Release a thread", Handle: api.Take(rs.release),
			Notes: "Closes the current generation as a version and frees the thread's name. Open gates are cancelled, and threads whose end it waited for. If that fails the version is made all the same, and the answer has an error beside it.",
			Body:  releaseBody{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "the version", Body: Released{}, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: path + "/releases/{version}", Role: tokens.Viewer, Summary: "Show a released version", Handle: api.Show(rs.get),
			Notes: "By its number, or by a tag: then the newest that has it.", Answers: one,
		},
		{
			Method: http.MethodDelete, Path: path + "/releases/{version}", Role: tokens.Operator, Summary: "Drop a released version", Handle: api.Show(rs.drop),
			Notes:   "All that the version holds goes; its release stays on record.",
			Query:   []api.Param{reasonParam},
			Answers: []api.Answer{{Status: http.StatusOK, Help: "what went", Body: retain.Deleted{}, Media: ""}},
		},
		{
			Method: http.MethodPost, Path: path + "/copy", Role: tokens.Operator, Summary: "Copy a thread", Handle: api.Reply(rs.copyThread),
			Notes: "A new thread with the whole visible history: each checkpoint under a new id that names its original. Waiting gates are asked again; nothing runs until it is resumed.",
			Body:  copyBody{}, Answers: []api.Answer{{Status: http.StatusOK, Help: "the new thread", Body: Thread{}, Media: ""}},
		},
	}
}

// A Released is the version that a thread was closed as.
type Released struct {
	posthouse.Release
	Error *problem.Details `json:"error,omitempty" doc:"what failed once the version was made, such as cancelling what the thread waited for"`
}

type releaseBody struct {
	Tags   []string `json:"tags,omitempty" doc:"names for the version beside its number"`
	Reason string   `json:"reason,omitempty" doc:"goes on record"`
	Failed bool     `json:"failed,omitempty" doc:"the work failed"`
}

func (rs *releases) release(w http.ResponseWriter, r *api.Request, b *releaseBody) error {
	if rel := rs.released(r); rel != nil {
		return api.WriteJSON(w, http.StatusOK, Released{Release: *rel})
	}
	rel, err := rs.ledger.Release(r.Context(), r.Name("id"), &ledger.ReleaseOptions{Tags: b.Tags, Reason: b.Reason, Failed: b.Failed, By: r.Actor.Name})
	if rel == nil {
		return err
	}
	out := Released{Release: *rel}
	if err != nil {
		out.Error = failedAfter(w, "the version is made", err)
	}
	return api.WriteJSON(w, http.StatusOK, out)
}

// released returns the version that an earlier attempt of the request has made, or nil.
func (rs *releases) released(r *api.Request) *posthouse.Release {
	if !r.Reserved.Again {
		return nil
	}
	for rel, err := range rs.ledger.Releases(r.Context(), r.Name("id")) {
		if err != nil || rel.At.Before(r.Reserved.At) {
			return nil
		}
		if rel.By == r.Actor.Name {
			return rel
		}
	}
	return nil
}

func (rs *releases) list(w http.ResponseWriter, r *api.Request) error {
	id := r.Name("id")
	limit, after, next, page := r.Number("limit", defaultLimit), r.Number("cursor", 0), "", []*posthouse.Release{}
	for rel, err := range rs.ledger.Releases(r.Context(), id) {
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
		if _, err := rs.ledger.Thread(r.Context(), id); err != nil {
			return err
		}
	}
	return api.WriteList(w, r, api.List[*posthouse.Release]{Items: page, Next: next})
}

func (rs *releases) get(r *api.Request) (*posthouse.Release, error) {
	return ledger.FindRelease(r.Context(), rs.ledger, r.Name("id"), r.Name("version"))
}

func (rs *releases) drop(r *api.Request) (*retain.Deleted, error) {
	return retain.DropRelease(r.Context(), rs.ledger, r.Name("id"), r.Name("version"), deleteOptions(r))
}

type copyBody struct {
	Thread  string `json:"thread" doc:"the new thread's name"`
	Version uint32 `json:"version,omitempty" doc:"copy this released version instead of the current generation"`
}

func (rs *releases) copyThread(r *api.Request, b *copyBody) (*Thread, error) {
	id := r.Name("id")
	if b.Thread == "" {
		if _, err := rs.ledger.Thread(r.Context(), id); err != nil {
			return nil, err
		}
		return nil, posthouse.Invalid("thread", "is required: the new thread's name")
	}
	t, err := transfer.CopyThread(r.Context(), rs.ledger, id, b.Thread, &transfer.CopyOptions{Version: b.Version, By: r.Actor.Name})
	if err != nil {
		return nil, err
	}
	return showThread(r.Context(), rs.ledger, t)
}

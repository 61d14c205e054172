package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/idempotency"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/internal/page"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// A router serves the table of routes, and does what all routes have in common.
type router struct {
	auth    *auth.Authenticator
	pages   *page.Pages
	turns   *limit.Turns // to make answers
	timeout *limit.AnswerTimeout
	body    int64 // bytes of a request's body
	state   int64 // of one that carries state or a decided value
	bodies  *api.Bodies
	keys    *idempotency.Keys
}

// mux routes by the table. A path or method that is not in the table is 404 or 405,
// for authenticated clients only; a browser gets the application, which says it to people.
func (ro *router) mux(routes []*api.Route) *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range routes {
		mux.Handle(r.Method+" "+r.Path, ro.serve(r))
		methods[r.Path] = append(methods[r.Path], r.Method)
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		allow := strings.Join(allowed, ", ")
		mux.Handle(path, ro.serve(&api.Route{Path: path, Role: tokens.Viewer, Handle: func(w http.ResponseWriter, r *api.Request) error {
			w.Header().Set("Allow", allow)
			return &posthouse.Error{Code: problem.CodeMethod, Message: fmt.Sprintf("this path does not take %.20s", r.Method), Hint: "it takes " + allow}
		}}))
	}
	mux.Handle("/", ro.serve(&api.Route{Path: "/", Role: tokens.Viewer, Handle: func(_ http.ResponseWriter, r *api.Request) error {
		e := problem.NotFound("path", r.URL.Path)
		e.Hint = "/openapi.json lists them"
		return e
	}}))
	return mux
}

// serve does what all routes have in common: it authenticates, checks the role and the
// limits, parses the parameters and writes errors.
func (ro *router) serve(rt *api.Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		api.NoteRoute(w, rt)
		if strings.HasPrefix(hr.URL.Path, "/api/") {
			w.Header().Set(api.VersionHeader, api.Version)
		}
		r := &api.Request{Request: hr, Route: rt}
		err := ro.admit(w, r)
		api.NoteValues(w, r)
		if err != nil {
			ro.fail(w, r, err)
			return
		}
		end, err := ro.bodies.Take(w, r, ro.bodyLimit(rt))
		if err != nil {
			ro.fail(w, r, err)
			return
		}
		defer end()
		give, err := ro.turn(w, r)
		if err == nil {
			defer give()
			err = ro.handle(w, r)
		}
		if err != nil {
			ro.fail(w, r, err)
		}
	})
}

// handle answers a request, once for each Idempotency-Key of its sender.
func (ro *router) handle(w http.ResponseWriter, r *api.Request) error {
	rt := r.Route
	if !rt.TakesKey() || rt.Attach || len(r.Header.Values(api.KeyHeader)) == 0 {
		return rt.Handle(w, r)
	}
	sender := r.Actor.Name
	if rt.Approval {
		var err error
		sender, err = rt.Holder(r)
		if err != nil {
			return err
		}
	}
	return ro.keys.Serve(w, r, sender, rt.Handle)
}

// turn waits until there is room to make one more answer that may be large, for the token of the
// request. The turn is over once the answer is made; while a client reads it, it counts among
// what is unread.
func (ro *router) turn(w http.ResponseWriter, r *api.Request) (give func(), err error) {
	if r.Route.Style != api.JSON || r.Method != http.MethodGet || r.Route.Role == "" {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), ro.timeout.Wait)
	defer cancel()
	give, err = ro.turns.Take(ctx, r.Actor.Name)
	if err == nil {
		api.NoteMade(w, give)
	}
	return give, err
}

// drained bounds how much of a body over the limit is read before the refusal,
// in bytes. A client that is still sending when the connection closes sees it
// reset, and not the answer that says why.
const drained = 8 << 20

func (ro *router) admit(w http.ResponseWriter, r *api.Request) (err error) {
	r.Actor, err = ro.auth.Authenticate(w, r)
	if err != nil {
		return err
	}
	r.Sent = r.Body
	r.Body = http.MaxBytesReader(w, r.Body, ro.bodyLimit(r.Route))
	if !r.Route.Others {
		r.Query, err = api.ParseQuery(r.URL.RawQuery, r.Route.Query)
		if err == nil {
			err = r.OpenCursor()
		}
		if err != nil {
			return err
		}
	}
	if r.Method == http.MethodPost || r.Route.Style == api.Socket {
		if _, err := idempotency.Key(r); err != nil {
			return err
		}
	}
	if r.Route.Body == nil && !r.Route.Form && !r.Route.Signed && r.ContentLength > 0 && !r.SaysNothing() {
		return posthouse.Invalid("body", "is not read by this path")
	}
	if r.Route.Method == "" || r.Route.Style == api.Page {
		return nil // 405 comes before 400, and a page reports itself what it does not find
	}
	return auth.CheckPath(r)
}

// bodyLimit returns how many bytes of a body a route reads.
func (ro *router) bodyLimit(rt *api.Route) int64 {
	switch {
	case rt.MaxBody > 0:
		return rt.MaxBody
	case rt.State:
		return ro.state
	}
	return ro.body
}

// fail answers with an error: problem+json, or the login page for a person.
func (ro *router) fail(w http.ResponseWriter, r *api.Request, err error) {
	api.NoteError(w, err)
	if big := (*http.MaxBytesError)(nil); errors.As(err, &big) {
		_, _ = io.CopyN(io.Discard, r.Sent, drained) // it may end, or break off: the answer is the same
	}
	if r.Route.Path == "/" && ro.pages.Missing(w, r.Request) {
		return
	}
	if r.Route.Style == api.Page && problem.Client(err).Code == problem.CodeUnauthenticated && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		ro.pages.Login(w, http.StatusUnauthorized, page.Form{})
		return
	}
	api.WriteProblem(w, err)
}

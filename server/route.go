package server

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/tokens"
)

// A route is one line of the table that the mux, the authentication, the
// parameter checks, the documentation and the tests are all made from.
type route struct {
	method  string
	path    string      // in the pattern syntax of net/http
	role    tokens.Role // the weakest that may; "" is public
	style   style
	summary string
	notes   string
	query   []param
	body    any  // a struct of the body's form; nil: no body is read
	form    bool // the body is the login form
	keyed   bool // the header Idempotency-Key is taken
	state   bool // the body may carry state: Limits.State holds instead of Limits.Body
	answers []answer
	handle  func(*Server, http.ResponseWriter, *request) error
}

// A style says what kind of client a route is for.
type style int

const (
	api    style = iota // programs: JSON in, JSON out
	page                // a browser: answered with the login page when nobody is logged in
	asset               // files of a page
	stream              // open for long
	socket              // WebSocket
)

// An answer is what a route may say, for the documentation.
type answer struct {
	status int
	help   string
	body   any    // a struct, or a slice of one; nil: none
	media  string // "" is application/json
}

// allRoutes is the whole surface of the server.
func allRoutes() []*route {
	return named(slices.Concat(
		checkpointRoutes(), gateRoutes(), grantRoutes(), approvalRoutes(), threadRoutes(), releaseRoutes(), holdRoutes(), retainRoutes(), clientRoutes(), signalRoutes(),
		agentRoutes(), runRoutes(), systemRoutes(), pageRoutes(),
	))
}

// mux routes by the table. What the table does not have is 404 or 405, and
// says so only to who is authenticated.
func (s *Server) mux() *http.ServeMux {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range s.routes {
		mux.Handle(r.method+" "+r.path, s.serve(r))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		slices.Sort(allowed)
		allow := strings.Join(allowed, ", ")
		mux.Handle(path, s.serve(&route{path: path, role: tokens.Viewer, handle: func(_ *Server, w http.ResponseWriter, r *request) error {
			w.Header().Set("Allow", allow)
			return &posthouse.Error{Code: CodeMethod, Message: "this path does not take " + strict.Cut(r.Method, 20), Hint: "it takes " + allow}
		}}))
	}
	mux.Handle("/", s.serve(&route{path: "/", role: tokens.Viewer, handle: func(_ *Server, _ http.ResponseWriter, r *request) error {
		e := notFound("path", strict.Cut(r.URL.Path, 200))
		e.Hint = "/openapi.json lists them"
		return e
	}}))
	return mux
}

// serve does for each route what is the same for all: who asks, whether they
// may, how much they may send, what they ask for, and how an error is told.
func (s *Server) serve(rt *route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		note(w, rt)
		r := &request{Request: hr, route: rt}
		if err := s.admit(w, r); err != nil {
			s.fail(w, r, err)
			return
		}
		if err := rt.handle(s, w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// drained bounds how much of a body over the limit is read before the refusal,
// in bytes. A client that is still sending when the connection closes sees it
// reset, and not the answer that says why.
const drained = 8 << 20

func (s *Server) admit(w http.ResponseWriter, r *request) (err error) {
	if r.actor, err = s.authenticate(w, r); err != nil {
		return err
	}
	limit := s.limits.Body
	if r.route.state {
		limit = s.limits.State
	}
	r.sent = r.Body
	r.Body = http.MaxBytesReader(w, r.Body, limit)
	if r.query, err = parseQuery(r.URL.RawQuery, r.route.query); err != nil {
		return err
	}
	if r.Method == http.MethodPost || r.route.style == socket {
		if _, err := r.idempotencyKey(); err != nil {
			return err
		}
	}
	if r.route.body == nil && !r.route.form && r.ContentLength > 0 {
		return strict.Invalid("body", "is not read by this path")
	}
	return nil
}

// fail answers with an error: problem+json, or the login page for a person.
func (s *Server) fail(w http.ResponseWriter, r *request, err error) {
	noteError(w, err)
	if big := (*http.MaxBytesError)(nil); errors.As(err, &big) {
		_, _ = io.CopyN(io.Discard, r.sent, drained) // it may end, or break off: the answer is the same
	}
	if r.route.style == page && clientError(err).Code == CodeUnauthenticated && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		s.pages.login(w, http.StatusUnauthorized, "")
		return
	}
	writeProblem(w, err)
}

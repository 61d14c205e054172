package api

import (
	"net/http"

	"github.com/posthouse/posthouse/server/tokens"
)

// Version is that of the paths below /api. Others would be below /api/v2 and so on.
const Version = "1"

// VersionHeader is in each answer of a path below /api.
const VersionHeader = "Posthouse-Api-Version"

// A Route is one line of the table of routes. The mux, the authentication, the
// parameter checks, the documentation and the tests are made from it.
type Route struct {
	Method  string
	Path    string      // in the pattern syntax of net/http
	Role    tokens.Role // the weakest that may; "" is public
	Style   Style
	Summary string
	Notes   string
	Query   []Param
	Others  bool  // parameters that are not in Query are passed over, as another protocol has it
	Body    any   // a struct of the body's form; nil: no body is read
	Form    bool  // the body is the login form
	Patches bool  // the body may be a patch of the media types [JSONPatch] and [MergePatch]
	State   bool  // the body may carry state: Limits.State holds instead of Limits.Body
	MaxBody int64 // of the body, in bytes, in place of both limits; 0: they hold
	Example any   // of the body, for the documentation; nil: there is no example

	// Approval routes take an approval token of the gate in the path, which their
	// handler checks, and no access token. They have no Role.
	Approval bool
	Holder   func(*Request) (string, error) // of such a route: who the token stands for, once it is checked

	// Attach says that the handler takes the header Idempotency-Key itself, and answers a request that
	// is sent again while it runs.
	Attach bool

	// Signed routes take a form that another service signed, which their handler checks, and no access
	// token. They have no Role.
	Signed bool

	Answers []Answer
	Handle  Handler
}

// The headers of requests that a client may have to send again.
const (
	KeyHeader      = "Idempotency-Key"      // names the request
	ReplayedHeader = "Idempotency-Replayed" // of an answer to a request that was sent before
)

// Media types of patches: RFC 6902 and RFC 7396.
const (
	JSONPatch  = "application/json-patch+json"
	MergePatch = "application/merge-patch+json"
)

// TakesKey reports whether the header [KeyHeader] may be sent: with each POST but those of the
// login form and of workers, which have ways of their own to be sent again.
func (r *Route) TakesKey() bool {
	return r.Method == http.MethodPost && !r.Form && r.Role != tokens.Worker && (r.Role != "" || r.Approval)
}

// A Handler answers a request that passed its route's checks. It writes a whole
// answer and returns nil, or writes nothing and returns an error.
type Handler = func(http.ResponseWriter, *Request) error

// A Style says what kind of client a route is for.
type Style int

// The styles.
const (
	JSON   Style = iota // programs: JSON in, JSON out
	Page                // a browser: answered with the login page unless it is logged in
	Asset               // files of a page
	Stream              // open for long
	Socket              // WebSocket
)

// An Answer is what a route may say, for the documentation.
type Answer struct {
	Status int
	Help   string
	Body   any    // a struct, or a slice of one; nil: no body
	Media  string // "" is application/json

	Example any // of the body; nil: there is no example
}

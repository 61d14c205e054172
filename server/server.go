package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/build"
	"github.com/posthouse/posthouse/internal/base/traceid"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/server/internal/about"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/examples"
	"github.com/posthouse/posthouse/server/internal/idempotency"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/internal/page"
	"github.com/posthouse/posthouse/server/internal/proof"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/internal/stream"
	"github.com/posthouse/posthouse/server/metrics"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/trace"
)

// Options configure a [Server]. Ledger and Tokens are required.
type Options struct {
	Ledger *ledger.Ledger
	Tokens *tokens.List

	Programs []Program // that clients see, and begin runs of

	Agents map[string]Agent // who takes requests, by name
	Runner Runner           // moves threads; nil: a decision is recorded and answered with 202
	Tasks  Tasks            // gives tasks to workers, as dispatch.Dispatcher; nil: workers are refused

	// Starter starts tasks by themselves, as standalone.Starter of package
	// task/standalone; its program must be among the runner's. Nil: the server starts no tasks.
	Starter task.Starter

	// Letters has messages about tasks that could not be used; nil: there is no box.
	Letters deadletter.Box

	// Notifier tells endpoints what happens, as notify.Notifier; the server shows, tests and replays them. Nil:
	// there are no endpoints.
	Notifier Notifier

	// Recover returns the request that a waiting checkpoint is about. It is called
	// before an approval without a request is recorded. With ok false the approval is
	// refused with 400: the program needs a request, and the state does not have it. For other
	// programs it returns "", true. Nil: no program needs a request.
	Recover func(*posthouse.Checkpoint) (request string, ok bool)

	// PublicKeys returns the keys that signatures are checked with. Nil: there are no keys, and signatures
	// are counted only.
	PublicKeys func() (*sign.Ring, error)

	// Ready reports why the store does not work. It is called at most once a second.
	// Nil: a thread is looked up and this process's liveness slot is written.
	Ready func(context.Context) error

	// Metrics are written at /metrics. Give the Ledger their Appended as well: without it, and with
	// nil, they count requests and what is open in the store.
	Metrics *metrics.Metrics

	Scratch      func() posthouse.Store // makes a store in memory that files of threads are looked at in; nil: they are not
	AllowedHosts []string               // names, with or without port, that Host may have beside loopback's
	TrustProxy   []netip.Prefix         // addresses of proxies with an X-Forwarded-For that says where a request came from
	Limits       Limits                 // sizes, times and numbers
	Logger       *slog.Logger           // one line a request, and causes of failures; default: discarded
	SignIn       signin.Provider        // by whom people log in without a token; nil: with tokens only
	Tracer       trace.Tracer           // makes a span of each request; the Ledger's makes those of runs; nil: there are no spans
	TraceURL     string                 // where people look at traces, with {traceId} for a trace's id; an http or https URL; "": nowhere
	LogLevel     *slog.LevelVar         // of Logger, for operators to set; nil: it stays as it is
	Profiles     bool                   // operators may read profiles of the process at /debug/pprof/
	Name         string                 // of the binary, shown by /version; default posthouse
	Version      string                 // shown by /version and in /openapi.json; default what Go recorded in the binary
	Demo         bool                   // what is in the store was made up: /version says so, for pages to show
	Now          func() time.Time       // the clock of sessions; default time.Now
}

// A Program is one that clients see.
type Program struct {
	Info    posthouse.ProgramInfo // Starts follows from Starter
	Starter posthouse.JSONStarter // begins runs of it; nil: this server begins no runs
}

// A Notifier tells endpoints what happens.
type Notifier interface {
	List(ctx context.Context) ([]notify.Status, error)
	Test(ctx context.Context, endpoint string) (*notify.Tested, error)
	Replay(ctx context.Context, endpoint string, since time.Time, by string) error
	Resume(ctx context.Context, endpoint string) error
	Deliveries(ctx context.Context, endpoint string) ([]notify.Delivery, error)
	Told(ctx context.Context, gate posthouse.ID) (*notify.GateTold, error)
	DecidesFor(endpoint string) (person string, keys []posthouse.Hash)
	Receive(w http.ResponseWriter, r *http.Request, kind string) error
	Metrics() []byte // in the text format of Prometheus
}

// A Server is the HTTP API and the inbox page in front of a Ledger. It is an
// [http.Handler]; [Server.HTTPServer] gives it the right timeouts.
type Server struct {
	life       *limit.Lifetime
	timeout    *limit.AnswerTimeout
	auth       *auth.Authenticator
	log        *slog.Logger
	pages      *page.Pages
	events     *stream.Events
	about      *about.About
	tokens     *approvalTokens
	resources  []resource
	routes     []*api.Route // of the resources: the whole surface of the server
	keys       *idempotency.Keys
	router     *router
	middleware *middleware
	handler    http.Handler
	peers      *limit.Connections
}

// New returns a server. [posthouse.ErrInvalid] names the option at fault.
func New(o Options) (*Server, error) {
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Limits = limits
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	binary := build.Read(o.Version)
	if o.Metrics == nil {
		o.Metrics = metrics.New()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	hosts, err := api.NewHosts(o.AllowedHosts)
	if err != nil {
		return nil, err
	}
	s := &Server{life: limit.NewLifetime(), log: o.Logger}
	s.timeout = &limit.AnswerTimeout{Wait: limits.Wait, Life: s.life}
	logins, unsaved := session.OpenLogins(o.Now, limits.Session, filepath.Join(o.Tokens.Dir(), session.LoginsFile))
	s.auth = auth.New(o.Tokens, logins, s.life, o.Logger)
	s.auth.Keep(o.Ledger, o.Now, unsaved)
	o.Ledger.Core().Logs.Know(o.Tokens)
	if o.SignIn != nil {
		s.auth.SignedIn, s.auth.Provider = o.SignIn.Key(), o.SignIn.Name()
	}
	s.pages, err = page.New(s.auth, o.Now)
	if err != nil {
		return nil, err
	}
	s.about = about.New(o.Ledger, cmp.Or(o.Name, "posthouse"), o.Demo, binary)
	s.keys = idempotency.New(o.Ledger, o.Now)
	s.resources = s.newResources(&o)
	for _, r := range s.resources {
		s.routes = append(s.routes, api.Complete(r.Routes())...)
	}
	examples.Add(s.routes)
	s.about.OpenAPI, err = api.OpenAPI(s.routes, binary.Version)
	if err != nil {
		return nil, err
	}
	s.router = &router{
		auth: s.auth, pages: s.pages, timeout: s.timeout, turns: limit.NewTurns(limits.TokenReads, limits.Reads),
		body: limits.Body, state: limits.State, keys: s.keys,
		bodies: &api.Bodies{Wait: limits.Wait, Room: limit.NewBodies(limit.BodyBounds{Token: limits.TokenBodies, Address: 2 * limits.TokenBodies, Anonymous: limits.Anonymous})},
	}
	proxies := api.Proxies(o.TrustProxy)
	s.peers = limit.NewConnections(limits.Connections, func(address string) bool { return limit.IsLoopback(address) || proxies.Trusts(address) })
	s.middleware = &middleware{hosts: hosts, proxies: proxies, unread: limit.NewUnread(16*limits.Unread, 64*limits.Unread), log: o.Logger, wall: time.Now, metrics: o.Metrics, tracer: o.Tracer, slash: page.Slash(s.routes), knows: s.auth.Knows}
	s.handler = s.middleware.wrap(s.router.mux(s.routes))
	return s, nil
}

func (o *Options) check() error {
	switch {
	case o.Ledger == nil:
		return posthouse.Invalid("Ledger", "is required")
	case o.Tokens == nil:
		return posthouse.Invalid("Tokens", "is required: nothing is served without authentication")
	}
	if _, err := traceid.ParseLink(o.TraceURL); err != nil {
		return posthouse.Invalid("TraceURL", "%v", err)
	}
	seen := map[string]bool{}
	for _, p := range o.Programs {
		if err := posthouse.ValidateName("Programs", p.Info.Name); err != nil {
			return err
		}
		if seen[p.Info.Name] {
			return posthouse.Invalid("Programs", "has %.80q twice", p.Info.Name)
		}
		seen[p.Info.Name] = true
	}
	for name := range o.Agents {
		if err := posthouse.ValidateName("Agents", name); err != nil {
			return posthouse.Invalid("Agents", "has the name %.80q, which is no id", name)
		}
	}
	return nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// HTTPServer returns an [http.Server] for s with the time and header limits
// that keep slow clients from holding it. Streams extend them for themselves.
func (s *Server) HTTPServer(addr string) *http.Server {
	return &http.Server{
		Addr: addr, Handler: s,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       60 * time.Second,
		WriteTimeout:      s.timeout.Wait + 60*time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,

		DisableGeneralOptionsHandler: true, // OPTIONS * is screened like the rest
		ConnState:                    s.peers.State,
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// LoginLink returns the path of a link that logs a browser in as the token with a secret: once, within
// ten minutes. Its code is in the fragment, which browsers send in no address. [posthouse.ErrForbidden] for
// a secret that is not that of a token.
func (s *Server) LoginLink(secret string) (path string, err error) {
	token, ok, err := s.auth.Token(secret)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", &posthouse.Error{Code: posthouse.CodeForbidden, Message: "no token has this secret", Hint: "make one: posthouse token create"}
	}
	code, err := s.pages.Code(token)
	return "/login#code=" + code, err
}

// Chunk sends what a handler streams to the clients that follow its thread now. It does not
// wait for them.
func (s *Server) Chunk(c task.Chunk) { s.events.Chunk(c) }

// NoteVerification lists a verification of the store that was made before the server began, with who made
// it. A nil report says that it was not finished, and why.
func (s *Server) NoteVerification(ctx context.Context, by string, began time.Time, report *sign.Report, why string) {
	for _, r := range s.resources {
		if p, ok := r.(*proof.Proof); ok {
			p.Note(ctx, by, began, report, why)
		}
	}
}

// Close ends the streams, takes no more requests for agents and waits for those
// that run. When ctx ends it cancels them and waits for their return; what they
// committed stays. Call it before [http.Server.Shutdown], which waits for
// streams.
func (s *Server) Close(ctx context.Context) error {
	err := s.life.Close(ctx)
	s.auth.Close(ctx)
	return err
}

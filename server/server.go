package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/seldom"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/page"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
)

// Options configure a [Server]. Ledger and Tokens are required.
type Options struct {
	Ledger *ledger.Ledger
	Tokens *tokens.List

	Agents map[string]Agent // who takes requests, by name
	Runner Runner           // moves threads; nil: a decision is recorded and answered with 202
	Tasks  Tasks            // gives tasks to workers, as dispatch.Dispatcher; nil: workers are refused

	// Starter starts tasks by themselves, as standalone.Starter of package
	// task/standalone; its program must be among the runner's. Nil: none are started.
	Starter task.Starter

	// Letters has messages about tasks that nobody could use; nil: none come here.
	Letters deadletter.Box

	// Recover returns the request that a waiting checkpoint is about. It is called
	// before an approval without a request is recorded. With ok false the approval is
	// refused with 400: the program needs a request, and the state has none. For other
	// programs it returns "", true. Nil: no program needs a request.
	Recover func(*posthouse.Checkpoint) (request string, ok bool)

	// Ready reports why the store does not work. It is called at most once a second.
	// Nil: a thread is looked up and this process's liveness slot is written.
	Ready func(context.Context) error

	AllowedHosts []string         // names, with or without port, that Host may have beside loopback's
	Limits       Limits           // sizes, times and numbers
	Logger       *slog.Logger     // one line a request, and causes of failures; default: discarded
	Version      string           // shown in /openapi.json
	Now          func() time.Time // the clock of sessions; default time.Now
}

// Limits bound what one request, or all together, may take. Zero values mean
// the defaults.
type Limits struct {
	Body    int64         // bytes of a request's body; default 1 MiB
	State   int64         // bytes of a body that carries state or a decided value; default 12 MiB: 8 MiB in base64
	Page    int           // bytes of states on one page of a list, at least one checkpoint; default 16 MiB
	Wait    time.Duration // how long an answer waits for the outcome; default 30 s
	Call    time.Duration // how long one agent may work on a request; default 15 min
	Calls   int           // requests that agents work on at once; default 100
	Streams int           // open event streams and WebSockets, and claims of workers that wait; default 1,000

	TokenStreams int // of those for each token, so that none holds all; default a quarter of them, at least 2
	TokenCalls   int // of Calls for each token; default half of them, at least 1

	Reads      int // answers to GET that are made at once, of up to Page bytes each; default 32. More wait
	TokenReads int // of those for each token; default a quarter of them, at least 1

	// Unread is how many bytes of events the clients of one token may leave unread, on all
	// their streams and WebSockets. Of more, the stream that waits longest is ended: its
	// client goes on with the last event that it has. Default: 4 MiB, and eight times as
	// much for all tokens together. Other answers have sixteen times as much.
	Unread int

	Session time.Duration // how long a login lasts; default 12 h
	// Clients is how many sessions of clients the store keeps. Each first digit of their
	// hash has a sixteenth of them, and one token a quarter of that; of more, its own
	// oldest ends. Default: 10,000.
	Clients int
	Client  time.Duration // how long one is kept that is not used; default 24 h
	Token   time.Duration // how long a WebSocket may take to send its token in a message; default 10 s
}

func (l Limits) withDefaults() (Limits, error) {
	if l.Body < 0 || l.State < 0 || l.Page < 0 || l.Wait < 0 || l.Call < 0 || l.Calls < 0 || l.Streams < 0 || l.TokenStreams < 0 || l.TokenCalls < 0 || l.Reads < 0 || l.TokenReads < 0 || l.Unread < 0 || l.Session < 0 || l.Token < 0 || l.Clients < 0 || l.Client < 0 {
		return l, posthouse.Invalid("Limits", "has a negative value; 0 means the default")
	}
	def(&l.Body, 1<<20)
	def(&l.State, 12<<20)
	def(&l.Page, 16<<20)
	def(&l.Wait, 30*time.Second)
	def(&l.Call, 15*time.Minute)
	def(&l.Calls, 100)
	def(&l.Streams, 1000)
	def(&l.TokenStreams, max(l.Streams/4, 2))
	def(&l.TokenCalls, max(l.Calls/2, 1))
	def(&l.Reads, 32)
	def(&l.TokenReads, max(l.Reads/4, 1))
	def(&l.Unread, 4<<20)
	def(&l.Session, 12*time.Hour)
	def(&l.Token, 10*time.Second)
	def(&l.Clients, 10_000)
	def(&l.Client, 24*time.Hour)
	return l, nil
}

func def[T comparable](v *T, d T) { *v = cmp.Or(*v, d) }

// A Server is the HTTP API and the inbox page in front of a Ledger. It is an
// [http.Handler]; [Server.HTTPServer] gives it the right timeouts.
type Server struct {
	ledger   *ledger.Ledger
	tokens   *tokens.List
	agents   map[string]Agent
	runner   Runner
	tasks    Tasks
	starter  task.Starter
	letters  deadletter.Box
	recovers func(*posthouse.Checkpoint) (string, bool)
	limits   Limits
	log      *slog.Logger
	now      func() time.Time
	wall     func() time.Time // the clock of socket deadlines
	tick     func(time.Duration) (<-chan time.Time, func())
	hosts    api.Hosts
	refused  refused // credentials that were not accepted

	routes    []*api.Route
	handler   http.Handler
	openapi   []byte
	pages     *page.Pages
	sessions  *session.Logins
	clients   *session.Clients
	keys      *keys
	runs      *runs
	approvals approvals
	ready     *readiness
	chunks    chunks

	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	work    context.Context // of running calls; ends with the context of Close
	abandon context.CancelFunc
	mu      sync.Mutex
	closed  bool
	shares  shares
	running sync.WaitGroup
	calls   chan struct{} // one for each running call
	streams chan struct{} // one for each open stream

	// WebSockets that have not sent their token yet have places of their own, a tenth of
	// the streams, so that they cannot keep others out.
	anonymous     anonymous
	unread        *api.Unread // events
	unreadAnswers *api.Unread // answers of other requests
	turns         *api.Turns  // to make them
}

// New returns a server. [posthouse.ErrInvalid] names the option at fault.
func New(o Options) (*Server, error) {
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, err
	}
	switch {
	case o.Ledger == nil:
		return nil, posthouse.Invalid("Ledger", "is required")
	case o.Tokens == nil:
		return nil, posthouse.Invalid("Tokens", "is required: nothing is served without authentication")
	}
	for name := range o.Agents {
		if err := posthouse.ValidateName("Agents", name); err != nil {
			return nil, posthouse.Invalid("Agents", "has the name %.80q, which is no id", name)
		}
	}
	s := &Server{
		ledger: o.Ledger, tokens: o.Tokens, agents: o.Agents, runner: o.Runner, tasks: o.Tasks, starter: o.Starter, letters: o.Letters, recovers: o.Recover, limits: limits,
		log: o.Logger, now: o.Now, wall: time.Now, tick: ticker,
		calls: make(chan struct{}, limits.Calls), streams: make(chan struct{}, limits.Streams),
		anonymous: anonymous{places: max(limits.Streams/10, 1)},
		unread:    api.NewUnread(limits.Unread, 8*limits.Unread), unreadAnswers: api.NewUnread(16*limits.Unread, 64*limits.Unread),
		turns: api.NewTurns(limits.TokenReads, limits.Reads),
	}
	if s.hosts, err = api.NewHosts(o.AllowedHosts); err != nil {
		return nil, err
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.refused = refused{seldom.New(s.log, s.wall)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.work, s.abandon = context.WithCancel(context.Background())
	s.sessions, err = session.OpenLogins(s.now, limits.Session, filepath.Join(s.tokens.Dir(), session.LoginsFile))
	s.noteLogins(err)
	s.keys = &keys{s: s}
	s.clients = session.NewClients(s.ledger.Store(), s.now, limits.Client, limits.Clients)
	s.runs = &runs{now: s.now, limit: limits.Calls, of: map[string]*call{}}
	s.approvals = approvals{ledger: shared(s.ledger), open: map[*gate.Session]bool{}}
	s.shares = shares{streams: map[string]int{}, calls: map[string]int{}}
	s.ready = &readiness{now: s.now, probe: o.Ready, weak: s.weak}
	if o.Ready == nil {
		s.ready.probe = s.probe
	}
	s.routes = s.allRoutes()
	if s.openapi, err = api.OpenAPI(s.routes, o.Version); err != nil {
		return nil, err
	}
	if s.pages, err = page.New(s.routes); err != nil {
		return nil, err
	}
	s.handler = s.middleware(s.mux())
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends the streams, takes no more requests for agents and waits for those
// that run. When ctx ends it cancels them and waits for their return; what they
// committed stays. Call it before [http.Server.Shutdown], which waits for
// streams.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	stop := context.AfterFunc(ctx, s.abandon)
	defer stop()
	s.running.Wait()
	s.abandon()
	s.saveUsed()
	return ctx.Err()
}

// acquire takes a slot for something that Close waits for. It fails once the server
// is closed, or if no slot is free. The returned func gives the slot back.
func (s *Server) acquire(slots chan struct{}, what string) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &posthouse.Error{Code: posthouse.CodeClosed, Message: "the server is shutting down", Hint: "try again in a moment"}
	}
	select {
	case slots <- struct{}{}:
	default:
		return nil, &posthouse.Error{Code: problem.CodeTooMany, Message: "too many " + what + " at once", Hint: "try again in a moment"}
	}
	s.running.Add(1)
	return func() { <-slots; s.running.Done() }, nil
}

func ticker(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTicker(d)
	return t.C, t.Stop
}

// newRequestID returns 64 random bits that name a request in the log and in its
// problem.
func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}

package host

import (
	"context"
	"log/slog"
	"net/netip"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/trace"
)

// Defaults of [Options].
const (
	DefaultAddr        = "127.0.0.1:8095"
	DefaultRetainEvery = time.Hour

	// DefaultDrainTimeout is below the time after which systemd, Docker and Kubernetes kill.
	DefaultDrainTimeout = 10 * time.Second
)

// An Opener opens the store that a URL names.
type Opener func(ctx context.Context, url string, o *local.Options) (posthouse.Store, error)

// An Env is what programs are made over.
type Env struct {
	Ledger *ledger.Ledger
	Dir    string       // the data directory
	Logger *slog.Logger // the server's
}

// A Set is the programs of one Ledger.
type Set struct {
	Programs []posthouse.Program     // what the runner keeps moving
	Agents   map[string]server.Agent // who takes requests, beside coordinators

	// Recover says what request a waiting checkpoint is about; see
	// [server.Options].
	Recover func(*posthouse.Checkpoint) (request string, ok bool)

	Notes []string // names and values in turns, printed when the server is ready
	Next  string   // command line to type first, as in `send dispatch "hello"`
}

// Options say what a host opens and where it listens.
type Options struct {
	Dir       datadir.Dir // the data directory, made if it is not there
	Store     string      // URL; "" is the data directory's own
	OpenStore Opener      // required
	NewStore  bool        // a store that is gone may be made again
	NewKey    bool        // a signing key that is lost may be replaced
	AllowWeak bool        // a store's server that loses acknowledged writes may be used

	Addr          string // to listen on
	Cert, Key     string // PEM files; both or neither
	AllowInsecure bool
	AllowedHosts  []string
	TrustProxy    []netip.Prefix

	OpenLink link.Opener   // required with Link
	Link     *link.Options // where workers come beside HTTP; nil: nowhere. Allow and Logger are filled in

	Endpoints []notify.Endpoint // who is told what happens
	PagesURL  string            // where people reach the pages, for links in messages; "": there are no links

	TaskConcurrency map[string]int // how many tasks of a name workers have at once; see [dispatch.Options]

	Encrypt bool
	Keys    string // file; "" is the data directory's own

	Retain      retain.Policy // the zero value removes nothing
	RetainEvery time.Duration
	MaxState    int64 // bytes; 0 is the Ledger's default

	// DrainTimeout is how long requests and threads that run may go on when the host is to end.
	// Work that is cut off then continues at the next start. 0 is DefaultDrainTimeout.
	DrainTimeout time.Duration

	// SignIn is the provider by which people log in, as OpenSignIn opens it; nil: with tokens only.
	SignIn     *signin.Options
	OpenSignIn signin.Opener

	// OpenTraces opens what traces and metrics are exported by; nil: nothing.
	OpenTraces trace.Opener
	TraceURL   string // where people look at traces, with {traceId} for a trace's id; "": nowhere

	Manager  string         // socket of the service manager that is told when the host serves; "" is no socket
	Logger   *slog.Logger   // required
	LogLevel *slog.LevelVar // of Logger, for operators to set; nil: it stays as it is
	Profiles bool           // operators may read profiles of the process
	Name     string         // of the binary
	Version  string
	// Programs makes the programs, once, over the Ledger that was opened. Nil makes
	// no programs.
	Programs func(context.Context, *Env) (*Set, error)

	// Fill writes a past into the store, which is empty, before the Ledger is opened; clients are told
	// that the store is a demo. The clock of env.Ledger stands where at puts it. Nil: nothing is written.
	Fill func(ctx context.Context, env *Env, at func(time.Time)) error

	// Work runs beside the server until ctx ends; its error ends the host. Nil: nothing does.
	Work func(ctx context.Context, engine task.Engine) error

	Letters deadletter.Box // dead letters of a host without a link; nil: there is no box
}

package app

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/systemd"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/store/local"
	"github.com/posthouse/posthouse/task/link"
)

// Options say what [Serve] serves, from where, and to whom. The zero value, and
// nil, serve this machine from the default data directory, without programs.
type Options struct {
	Programs Programs // what runs; Dev and Name are for Main

	// Dir is the data directory: store, keys, tokens. It is made if it is not
	// there. Default: posthouse below the XDG data home, where the command line
	// looks as well.
	Dir string

	// Store is the address of the store, as in sqlite:PATH, file:DIR or memory:. Default:
	// posthouse.db in Dir.
	Store string

	// NewStore lets Dir belong to the store at hand, which is made if it is not there. Without
	// it a store that is gone, or another than that of Dir, is refused.
	// Otherwise that is [posthouse.ErrNotFound]: a disk may be missing.
	NewStore bool

	// NewKey signs with a new key where the one is lost that has signed what is in the store. Without
	// it a start without that key is refused.
	NewKey bool

	// AllowWeak accepts a store on a server with settings that lose acknowledged
	// writes; /readyz, the pages and the log then say so. Otherwise Serve fails with
	// [posthouse.ErrUnsupported].
	AllowWeak bool

	Addr          string   // to listen on; port 0 picks a free one; default 127.0.0.1:8095
	CertFile      string   // certificate, PEM; with KeyFile
	KeyFile       string   // its private key, PEM
	AllowInsecure bool     // listen beyond this machine without TLS: a proxy in front does it
	AllowedHosts  []string // names by which clients may call the server, beside loopback's

	// TrustProxy are the addresses of proxies in front of the server. The last address of X-Forwarded-For
	// that is not one of them is where a request came from: for bounds per address, the log, and the
	// record of logins. Default: the peer of the connection.
	TrustProxy []netip.Prefix

	// Link is where workers come beside HTTP, through Programs.OpenLink: servers at a URL, or a
	// server in this process, which lets in whom the tokens in Dir do. Allow and Logger are
	// filled in. Nil: workers come over HTTP only.
	Link *link.Options

	// Endpoints are told what happens: gates that open and are decided, effects, ends of runs. See
	// package notify; package notifyfile reads them from a file. PagesURL is where people reach the
	// pages, for links in messages; without it there are no links.
	Endpoints []notify.Endpoint
	PagesURL  string

	// TraceURL is where people look at traces, an http or https URL with {traceId} for a trace's id: pages and
	// commands link there. Default: nowhere.
	TraceURL string

	// SignIn is the provider by which people log in with an account of theirs, through
	// Programs.OpenSignIn. Nil: with tokens only.
	SignIn *signin.Options

	// Encrypt encrypts what is stored from now on, and makes a key file if it is
	// missing. An existing key file is used anyway.
	Encrypt bool

	// EncryptionKeys is the file with the keys. Default: encryption.keys in Dir.
	EncryptionKeys string

	// Retain is applied at once and then at each RetainEvery, by default an hour.
	// The zero value removes nothing.
	Retain      retain.Policy
	RetainEvery time.Duration

	// MaxState is the most bytes that one state, step result or value may have.
	// Default: [posthouse.DefaultMaxState]; at most 2 GiB.
	MaxState int64

	// DrainTimeout is how long what runs may go on when ctx has ended; default 10 s. Work that is
	// cut off continues at the next start.
	DrainTimeout time.Duration

	Logger   *slog.Logger   // default: what goes wrong, as text, on standard error
	LogLevel *slog.LevelVar // of Logger, for operators to set over HTTP; nil: it stays as it is
	Profiles bool           // operators may read profiles of the process at /debug/pprof/
	Ready    func(*Info)    // called once, when the server is about to take requests; may be nil
}

// An Info says where a server is.
type Info struct {
	URL       string // as in http://127.0.0.1:8095
	StoreURL  string // to show: a password in it is xxxxx
	LinkURL   string // where workers come beside HTTP; "" is nowhere
	TokenFile string // holds the first token, an operator's, unless it was revoked or moved
	Ledger    *ledger.Ledger
}

// maxMaxState is what the int of a 32-bit machine holds.
const maxMaxState = 1<<31 - 1

func (o *Options) validate() error {
	switch {
	case (o.CertFile == "") != (o.KeyFile == ""):
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "CertFile", Message: "and KeyFile belong together", Hint: "give both, or none"}
	case o.RetainEvery < 0:
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "RetainEvery", Message: "is negative", Hint: "0 means an hour"}
	case o.DrainTimeout < 0:
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "DrainTimeout", Message: "is negative", Hint: "0 means ten seconds"}
	case o.MaxState < 0 || o.MaxState > maxMaxState:
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "MaxState", Message: "is not between 0 and 2 GiB", Hint: "0 means the default; of what is larger, store a reference"}
	}
	if o.Addr != "" {
		if _, _, err := net.SplitHostPort(o.Addr); err != nil {
			return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "Addr", Message: "is not HOST:PORT", Hint: "as in " + host.DefaultAddr}
		}
	}
	return nil
}

// Serve serves the programs over HTTP until ctx ends, and then returns nil. If
// something breaks before, it ends with that error. It makes what is missing:
// directory, store, signing key, first token. When ctx ends it closes streams, waits
// at most DrainTimeout for agents, drains the runner, and closes the store. Where a service
// manager started the process and wants to know (NOTIFY_SOCKET, a unit of Type=notify), Serve
// tells it when it serves and when it ends.
//
// [posthouse.ErrInvalid] names the option at fault. [posthouse.ErrLocked] says that
// another process has the address or the store.
func Serve(ctx context.Context, o *Options) error {
	if o == nil {
		o = &Options{}
	}
	if err := o.validate(); err != nil {
		return err
	}
	ho, err := o.host()
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, ho)
	if err != nil {
		return err
	}
	if o.Ready != nil {
		info := &Info{URL: h.URL, StoreURL: h.StoreURL, TokenFile: h.TokenFile, Ledger: h.Ledger}
		if h.Link != nil {
			info.LinkURL = h.Link.Address()
		}
		o.Ready(info)
	}
	return h.Run(ctx)
}

// host returns the options with their defaults.
func (o *Options) host() (*host.Options, error) {
	ho := &host.Options{
		Dir: datadir.Dir(o.Dir), Store: strings.TrimSpace(o.Store), OpenStore: o.Programs.OpenStore, NewStore: o.NewStore, NewKey: o.NewKey, AllowWeak: o.AllowWeak,
		Addr: cmp.Or(o.Addr, host.DefaultAddr), Cert: o.CertFile, Key: o.KeyFile, AllowInsecure: o.AllowInsecure, AllowedHosts: o.AllowedHosts, TrustProxy: o.TrustProxy,
		Encrypt: o.Encrypt, Keys: o.EncryptionKeys, Retain: o.Retain, RetainEvery: cmp.Or(o.RetainEvery, host.DefaultRetainEvery), MaxState: o.MaxState,
		Logger: o.Logger, LogLevel: o.LogLevel, Profiles: o.Profiles, DrainTimeout: o.DrainTimeout, Name: o.Programs.name(), Version: o.Programs.Version, Programs: opener(o.Programs.Open), OpenLink: o.Programs.OpenLink, Link: o.Link, OpenTraces: o.Programs.OpenTraces, TraceURL: o.TraceURL,
		SignIn: o.SignIn, OpenSignIn: o.Programs.OpenSignIn,
		Endpoints: o.Endpoints, PagesURL: o.PagesURL,
		Manager: os.Getenv(systemd.SocketVariable),
	}
	if o.Dir == "" {
		dir, err := datadir.Default(os.Getenv)
		if err != nil {
			return nil, err
		}
		ho.Dir = dir
	}
	if ho.OpenStore == nil {
		ho.OpenStore = local.Open
	}
	if ho.Logger == nil {
		ho.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	return ho, nil
}

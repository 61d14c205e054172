package cli

import (
	"context"
	"net/netip"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli/env"
	"github.com/posthouse/posthouse/app/internal/cli/settings"
	"github.com/posthouse/posthouse/app/internal/cli/stores"
	"github.com/posthouse/posthouse/app/internal/cli/tasks"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/app/internal/systemd"
	"github.com/posthouse/posthouse/internal/base/traceid"
	"github.com/posthouse/posthouse/notify/notifyfile"
	"github.com/posthouse/posthouse/task/link"
)

// A serving is a run of serve, or of dev.
type serving struct {
	env    *env.Env
	config *Config
	dev    bool // with the programs to try

	host      host.Options // the flags that are options of a host
	store     stores.StoreFlag
	ephemeral bool
	log       env.LogFlags
	signIn    signInFlags
	proxies   []string // --trust-proxy
	drain     env.Span // how long what runs may go on at the end
	retain    stores.RetentionFlags
	every     env.Span // how often
	maxState  byteSize
	nats      tasks.NATSFlags
	listen    string // for workers, over NATS
	notify    string // file of endpoints
	flags     *pflag.FlagSet
}

func serveCmd(e *env.Env, c *Config) *cobra.Command {
	s := serving{env: e, config: c}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the data directory over HTTP",
		Long: `Serve the data directory over HTTP: REST, events, and the inbox page.

The first start makes the data directory, the store, a signing key and an access
token. It listens on this machine only unless it is given a certificate, or
--allow-insecure behind a proxy that does TLS. Workers come over HTTP, with a token of
the role worker, and over NATS where --nats or --nats-listen says so.

Where no flag and no variable of posthouse says otherwise, DATABASE_URL, or else REDIS_URL, is the store of a
data directory that has no store of its own yet, NATS_URL is --nats, and PORT is the port
of --addr: "posthouse config show" tells what comes from where.`,
		Example: `  posthouse serve
  posthouse serve --addr 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --allowed-host posthouse.example.com`,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) },
	}
	s.add(cmd)
	return cmd
}

// add adds the flags.
func (s *serving) add(cmd *cobra.Command) {
	f := cmd.Flags()
	s.flags = f
	s.store.Add(s.env, cmd)
	f.StringVar(&s.host.Addr, "addr", host.DefaultAddr, "address to listen on; port 0 picks a free one")
	if s.dev {
		settings.NoFallback(f, "store") // what is to be tried leaves the databases of others alone
	} else {
		settings.FallBack(f, "store", settings.DatabaseURL, "ephemeral")
	}
	settings.FallBack(f, "addr", settings.Port)
	f.BoolVar(&s.ephemeral, "ephemeral", false, "keep the store in memory: the same as --store memory:")
	f.StringVar(&s.host.Cert, "tls-cert", "", "certificate file, PEM")
	f.StringVar(&s.host.Key, "tls-key", "", "the certificate's private key file, PEM")
	f.BoolVar(&s.host.AllowInsecure, "allow-insecure", false, "listen beyond this machine without TLS")
	f.StringSliceVar(&s.host.AllowedHosts, "allowed-host", nil, "name by which clients may call this server; may be repeated")
	f.StringSliceVar(&s.proxies, "trust-proxy", nil, "address or network of a proxy in front, as in 10.1.0.0/16, whose X-Forwarded-For says where a request came from; may be repeated")
	f.BoolVar(&s.host.Encrypt, "encrypt", false, "encrypt what is stored from now on; makes a key file if there is none")
	stores.KeysFlag(cmd, &s.host.Keys)
	f.BoolVar(&s.host.NewStore, "new-store", false, "let the directory belong to the store of this address, which is made if it is not there")
	f.BoolVar(&s.host.NewKey, "new-key", false, "sign with a new key if the one that has signed what is in the store is lost")
	s.retain.Add(f, "retain-")
	s.every = env.Span(host.DefaultRetainEvery)
	f.Var(&s.every, "retain-every", "how often the retention flags are applied")
	s.maxState = posthouse.DefaultMaxState
	f.Var(&s.maxState, "max-state", "most that one state, step result or value may have, as in 16MiB; of more, store a reference")
	f.StringToIntVar(&s.host.TaskConcurrency, "task-limit", nil, "how many tasks of a name workers of this server have at once, as in transcribe=2; may be repeated")
	if s.env.OpenLink != nil {
		s.nats.Add(f)
		if !s.dev {
			settings.FallBack(f, "nats", settings.NATSURL, "nats-listen")
		}
		f.StringVar(&s.listen, "nats-listen", "", "let workers come to a NATS server in this process, at this address; needs a certificate beyond this machine")
	}
	s.drain = env.Span(host.DefaultDrainTimeout)
	f.Var(&s.drain, "drain-timeout", "how long what is running may go on when the server is to end")
	f.StringVar(&s.notify, "notify", "", "file, YAML, that says which webhooks are told what happens")
	f.StringVar(&s.host.TraceURL, "trace-url", "", "where people look at traces, an http or https URL with {traceId} for the id: pages and commands link there")
	f.BoolVar(&s.host.Profiles, "pprof", false, "serve profiles of the process at /debug/pprof/, to operators")
	if s.config.SignIn != nil {
		s.signIn.add(f)
	}
	s.log.Add(f, "warn")
}

// run serves until ctx ends.
func (s *serving) run(ctx context.Context) error {
	o, err := s.options()
	if err != nil {
		return err
	}
	return s.serve(ctx, o)
}

// serve serves with options until ctx ends.
func (s *serving) serve(ctx context.Context, o *host.Options) error {
	h, err := host.Open(ctx, o)
	if err != nil {
		return tasks.NameFlag(err)
	}
	s.banner(h)
	if s.dev && o.Fill == nil && !s.env.Structured() {
		s.tellKept(ctx, h, o.Dir)
	}
	if s.config.Serve != nil {
		return s.config.Serve(ctx, h)
	}
	return h.Run(ctx)
}

// options returns the host's options by the flags.
func (s *serving) options() (*host.Options, error) {
	log, err := s.log.Logger(s.env.Err)
	if err != nil {
		return nil, err
	}
	s.env.WarnOfSettings(log)
	if s.drain <= 0 {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "drain-timeout", Message: "must be above zero"}
	}
	if s.ephemeral {
		if s.store.URL != "" && s.store.URL != "memory:" {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "ephemeral", Message: "and --store exclude each other", Hint: "leave one of them out"}
		}
		s.store.URL = "memory:"
	}
	if _, err := traceid.ParseLink(s.host.TraceURL); err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "trace-url", Message: err.Error(), Hint: "write it as in https://traces.example.com/trace/" + traceid.Placeholder}
	}
	o := s.host
	o.TrustProxy, err = parseProxies(s.proxies)
	if err != nil {
		return nil, err
	}
	o.Store, o.Dir, err = s.store.Address()
	if err != nil {
		return nil, err
	}
	o.OpenStore, o.AllowWeak = s.env.Open, s.store.AllowWeak
	o.OpenLink, o.Link, o.OpenTraces = s.env.OpenLink, s.link(), s.config.Traces
	o.OpenSignIn = s.config.SignIn
	o.SignIn, err = s.signIn.provider()
	if err != nil {
		return nil, err
	}
	if s.notify != "" {
		c, err := notifyfile.Read(s.notify, s.config.Channels...)
		if err != nil {
			return nil, err
		}
		o.PagesURL = c.URL
		o.Endpoints, err = c.Endpoints(nil)
		if err != nil {
			return nil, err
		}
	}
	o.MaxState, o.RetainEvery = int64(s.maxState), time.Duration(s.every)
	o.Logger, o.LogLevel, o.DrainTimeout = log, &s.log.Level, time.Duration(s.drain)
	o.Version, o.Programs = s.config.Version, s.config.Programs
	o.Name = s.env.Name()
	o.Manager = s.env.Getenv(systemd.SocketVariable)
	if s.retain.Set() {
		o.Retain = s.retain.Policy()
	}
	if s.dev {
		o.Programs = s.config.Dev.Programs
	}
	return &o, nil
}

// parseProxies reads addresses and networks.
func parseProxies(texts []string) (ps []netip.Prefix, err error) {
	for _, t := range texts {
		p, err := netip.ParsePrefix(t)
		if a, e := netip.ParseAddr(t); err != nil && e == nil {
			p, err = a.Prefix(a.BitLen())
		}
		if err != nil || p.Bits() == 0 {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "trust-proxy", Message: "has " + strconv.Quote(t) + ", which is no address or network", Hint: "as in 10.1.0.0/16 or 192.0.2.7"}
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// link says where workers come beside HTTP. A server in this process has the certificate
// of the API unless it is given another.
func (s *serving) link() *link.Options {
	o := s.nats.Link()
	o.Listen = s.listen
	if o.URL == "" && o.Listen == "" {
		return nil
	}
	if o.Listen != "" && o.Cert == "" && o.Key == "" {
		o.Cert, o.Key = s.host.Cert, s.host.Key
	}
	return o
}

package cli

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/task/link"
)

// serveFlags are the flags of serve and dev.
type serveFlags struct {
	addr      string
	store     string
	ephemeral bool
	cert, key string
	insecure  bool
	hosts     []string
	logLevel  string
	encrypt   bool
	keys      string // file
	retain    retention
	every     span // how often
	maxState  byteSize
	nats      natsFlags
	listen    string // for workers, over NATS
	atOnce    map[string]int

	newStore bool // a store that is gone may be made anew
	newKey   bool // a signing key that is lost may be replaced
	dev      bool // with the programs to try
}

func (a *app) serveCmd() *cobra.Command {
	var s serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the data directory over HTTP",
		Long: `Serve the data directory over HTTP: REST, events, and the inbox page.

The first start makes the data directory, the store, a signing key and an access
token. It listens on this machine only unless it is given a certificate, or
--allow-insecure behind a proxy that does TLS. Workers come over HTTP, with a token of
the role worker, and over NATS where --nats or --nats-listen says so.`,
		Example: `  posthouse serve
  posthouse serve --addr 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --allowed-host posthouse.example.com`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), &s) },
	}
	a.serveFlags(cmd, &s)
	return cmd
}

func (a *app) serveFlags(cmd *cobra.Command, s *serveFlags) {
	f := cmd.Flags()
	a.storeFlag(cmd, &s.store)
	f.StringVar(&s.addr, "addr", host.DefaultAddr, "address to listen on; port 0 picks a free one")
	f.BoolVar(&s.ephemeral, "ephemeral", false, "keep the store in memory: the same as --store memory:")
	f.StringVar(&s.cert, "tls-cert", "", "certificate file, PEM")
	f.StringVar(&s.key, "tls-key", "", "the certificate's private key file, PEM")
	f.BoolVar(&s.insecure, "allow-insecure", false, "listen beyond this machine without TLS")
	f.StringSliceVar(&s.hosts, "allowed-host", nil, "name by which clients may call this server; may be repeated")
	f.BoolVar(&s.encrypt, "encrypt", false, "encrypt what is stored from now on; makes a key file if there is none")
	keysFlag(cmd, &s.keys)
	f.BoolVar(&s.newStore, "new-store", false, "let the directory belong to the store of this address, which is made if it is not there")
	f.BoolVar(&s.newKey, "new-key", false, "sign with a new key if the one that has signed what is in the store is lost")
	s.retain.flags(f, "retain-")
	s.every = span(host.DefaultRetainEvery)
	f.Var(&s.every, "retain-every", "how often the retention flags are applied")
	s.maxState = posthouse.DefaultMaxState
	f.Var(&s.maxState, "max-state", "most that one state, step result or value may have, as in 16MiB; of more, store a reference")
	f.StringToIntVar(&s.atOnce, "task-limit", nil, "how many tasks of a name workers of this server have at once, as in transcribe=2; may be repeated")
	if a.OpenLink != nil {
		s.nats.flags(f)
		f.StringVar(&s.listen, "nats-listen", "", "let workers come to a NATS server in this process, at this address; needs a certificate beyond this machine")
	}
	f.StringVar(&s.logLevel, "log-level", "warn", "debug, info, warn or error; goes to standard error")
}

func (a *app) serve(ctx context.Context, s *serveFlags) error {
	o, err := a.hostOptions(s)
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, o)
	if err != nil {
		return inFlags(err)
	}
	a.banner(h)
	if s.dev && !a.JSON {
		a.tellKept(ctx, h, o.Dir)
	}
	return h.Run(ctx)
}

// hostOptions returns the host's options by the flags.
func (a *app) hostOptions(s *serveFlags) (*host.Options, error) {
	log, err := a.logger(s.logLevel)
	if err != nil {
		return nil, err
	}
	if s.ephemeral {
		if s.store != "" && s.store != "memory:" {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "ephemeral", Message: "and --store exclude each other", Hint: "leave one of them out"}
		}
		s.store = "memory:"
	}
	url, dir, err := a.storeURL(s.store)
	if err != nil {
		return nil, err
	}
	o := &host.Options{
		Dir: dir, Store: url, OpenStore: a.openURL, NewStore: s.newStore, NewKey: s.newKey, AllowWeak: a.allowWeak, Encrypt: s.encrypt, Keys: s.keys,
		Addr: s.addr, Cert: s.cert, Key: s.key, AllowInsecure: s.insecure, AllowedHosts: s.hosts,
		RetainEvery: time.Duration(s.every), MaxState: int64(s.maxState), TaskLimits: s.atOnce, Logger: log, Version: a.readVersion().Version, Programs: a.Programs,
	}
	o.OpenLink, o.Link = a.OpenLink, s.link()
	if s.retain.set() {
		o.Retain = s.retain.policy()
	}
	if s.dev {
		o.Programs = a.Dev.Programs
	}
	return o, nil
}

// link says where workers come beside HTTP. A server in this process has the certificate
// of the API unless it is given another.
func (s *serveFlags) link() *link.Options {
	if s.nats.url == "" && s.listen == "" {
		return nil
	}
	o := s.nats.link()
	o.Listen = s.listen
	if o.Listen != "" && o.Cert == "" && o.Key == "" {
		o.Cert, o.Key = s.cert, s.key
	}
	return o
}

func (a *app) logger(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "log-level", Message: "is not one of debug, info, warn and error"}
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: l})), nil
}

// banner prints where everything is, and what to type next.
func (a *app) banner(h *host.Host) {
	lines := map[string]string{
		"api": h.URL + "/api", "page": h.URL + "/", "docs": h.URL + "/docs", "store": h.StoreURL, "token": h.TokenFile,
		"pid": strconv.Itoa(os.Getpid()),
	}
	if h.Link != nil {
		lines["nats"] = h.Link.Address()
	}
	next := a.named(a.nextCommand(h))
	if p := h.Ledger.EncryptionStatus(); p.EncryptsAtRest {
		lines["encryptionKey"] = p.EncryptionKey
	}
	if a.JSON {
		lines["next"] = next
		_ = a.Encode(lines) // nobody reads it: the server runs all the same
		return
	}
	store := h.StoreURL
	if store == "memory:" {
		store += " (gone when this process ends)"
	}
	fields := []string{"API", lines["api"], "Page", lines["page"], "Docs", lines["docs"], "Store", store}
	if at := lines["nats"]; at != "" {
		fields = append(fields, "NATS", at)
	}
	if id := lines["encryptionKey"]; id != "" {
		fields = append(fields, "Encrypted", "with key "+id)
	}
	fields = append(fields, h.Set.Notes...)
	token := h.TokenFile
	if h.TokenGone {
		token += a.named(" (no longer good; make another: posthouse token create --role operator)")
	}
	a.Fields(append(fields, "Token file", token, "PID", lines["pid"])...)
	a.Line("\nnext: %s", next)
}

// nextCommand is what to type in another terminal. It names what differs from the
// defaults.
func (a *app) nextCommand(h *host.Host) string {
	cmd := "posthouse inbox"
	if h.Set.Next != "" {
		cmd = "posthouse " + h.Set.Next
	}
	if a.dataDir != "" {
		cmd += " --data-dir " + quoted(a.dataDir)
	}
	if h.URL != defaultServer {
		cmd += " --server " + h.URL
	}
	return cmd
}

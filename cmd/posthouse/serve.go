package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/cmd/posthouse/internal/datadir"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/sign"
)

// A serving is the flags of serve and dev.
type serving struct {
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

	sample bool // dev: with the bundled workflow
}

const (
	defaultAddr = "127.0.0.1:8095"
	stopTime    = 10 * time.Second // for what is running when the process is asked to end
)

func (a *app) serveCmd() *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the data directory over HTTP",
		Long: `Serve the data directory over HTTP: REST, events, and the inbox page.

The first start makes the data directory, the store, a signing key and an access
token. It listens on this machine only unless it is given a certificate, or
--allow-insecure behind a proxy that does TLS.`,
		Example: `  posthouse serve
  posthouse serve --addr 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --allowed-host posthouse.example.com`,
		Args: args(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), &s) },
	}
	a.serveFlags(cmd, &s)
	return cmd
}

func (a *app) serveFlags(cmd *cobra.Command, s *serving) {
	f := cmd.Flags()
	storeFlag(cmd, &s.store)
	f.StringVar(&s.addr, "addr", defaultAddr, "address to listen on; port 0 picks a free one")
	f.BoolVar(&s.ephemeral, "ephemeral", false, "keep the store in memory: the same as --store memory:")
	f.StringVar(&s.cert, "tls-cert", "", "certificate file, PEM")
	f.StringVar(&s.key, "tls-key", "", "the certificate's private key file, PEM")
	f.BoolVar(&s.insecure, "allow-insecure", false, "listen beyond this machine without TLS")
	f.StringSliceVar(&s.hosts, "allowed-host", nil, "name by which clients may call this server; may be repeated")
	f.BoolVar(&s.encrypt, "encrypt", false, "encrypt what is stored from now on; makes a key file if there is none")
	keysFlag(cmd, &s.keys)
	f.BoolVar(&a.newStore, "new-store", false, "begin with a new store where the one of this directory is gone or empty")
	s.retain.flags(f, "retain-")
	s.every = span(time.Hour)
	f.Var(&s.every, "retain-every", "how often the retention flags are applied")
	s.maxState = posthouse.DefaultMaxState
	f.Var(&s.maxState, "max-state", "most that one state, step result or value may have, as in 16MiB; of more, store a reference")
	f.StringVar(&s.logLevel, "log-level", "warn", "debug, info, warn or error; goes to standard error")
}

// A running is what one serve has open.
type running struct {
	listener  net.Listener
	ledger    *posthouse.Ledger
	store     posthouse.Store
	server    *server.Server
	runner    *runner.Runner
	log       *slog.Logger
	url       string
	storeURL  string
	tokenFile string
	tokenGone bool // what is in it was revoked, or has expired
	dir       string
	sample    *sample
	retain    func(context.Context) error // nil: there is no policy
	rotating  bool                        // there are encryption keys of the past
}

func (a *app) serve(ctx context.Context, s *serving) (err error) {
	r, err := a.open(ctx, s)
	if err != nil {
		return err
	}
	a.banner(s, r)
	return r.run(ctx)
}

// open starts everything and closes it again if anything fails.
func (a *app) open(ctx context.Context, s *serving) (_ *running, err error) {
	r := &running{}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.log, err = a.logger(s.logLevel); err != nil {
		return nil, err
	}
	if err := r.listen(s); err != nil {
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
	r.storeURL, r.dir = url, string(dir)
	if err := dir.Create(); err != nil {
		return nil, err
	}
	if r.store, _, err = a.openStore(ctx, url, false); err != nil { // a refused address leaves no keys behind
		return nil, err
	}
	key, err := sign.LoadOrCreate(dir.Key())
	if err != nil {
		return nil, err
	}
	tokens, err := server.OpenTokens(r.dir, nil)
	if err != nil {
		return nil, err
	}
	if r.tokenFile, _, err = tokens.First(); err != nil {
		return nil, err
	}
	if secret, err := datadir.ReadToken(r.tokenFile); err == nil {
		ok, err := tokens.Valid(secret)
		if err != nil {
			return nil, err
		}
		r.tokenGone = !ok
	}
	o := posthouse.Options{Signer: key, Validate: gate.Validator(), Logger: r.log, MaxState: int(s.maxState)}
	if o.Cipher, r.rotating, err = a.cipher(dir, s); err != nil {
		return nil, err
	}
	if r.ledger, err = posthouse.Open(r.store, &o); err != nil {
		return nil, err
	}
	if err := unsealed(ctx, r.ledger, keysPath(s.keys, dir)); err != nil {
		return nil, err
	}
	return r, r.assemble(s, tokens)
}

// assemble puts the programs, what keeps them moving and the server together.
func (r *running) assemble(s *serving, tokens *server.Tokens) (err error) {
	o := server.Options{Ledger: r.ledger, Tokens: tokens, Logger: r.log, AllowedHosts: s.hosts, Version: readVersion().Version}
	o.Limits.State = s.maxState.body()
	if policy := s.retain.policy(); s.retain.set() {
		r.retain = func(ctx context.Context) error { return r.ledger.RetainEvery(ctx, policy, time.Duration(s.every)) }
	}
	var programs []posthouse.Program
	if s.sample {
		if r.sample, err = newSample(r.ledger, r.dir); err != nil {
			return err
		}
		programs = append(programs, r.sample.program())
		o.Agents = r.sample.agents()
		o.Recover = r.sample.recover
	}
	if r.runner, err = runner.New(r.ledger, &runner.Options{Programs: programs, Logger: r.log}); err != nil {
		return err
	}
	o.Runner = r.runner
	r.server, err = server.New(o)
	return err
}

func (a *app) logger(level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "log-level", Message: "is not one of debug, info, warn and error"}
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: l})), nil
}

func (r *running) listen(s *serving) error {
	secure := s.cert != "" || s.key != ""
	if err := server.CheckListen(s.addr, secure, s.insecure); err != nil {
		return err
	}
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		return &posthouse.Error{
			Code: posthouse.CodeLocked, Message: "cannot listen on " + s.addr, Err: err,
			Hint: "if another posthouse is running there, use it, or choose another with --addr",
		}
	}
	r.listener, r.url = l, "http://"+l.Addr().String()
	if !secure {
		return nil
	}
	cert, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "tls-cert", Message: "cannot be used", Err: err, Hint: "give both --tls-cert and --tls-key"}
	}
	r.listener = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}})
	r.url = "https://" + l.Addr().String()
	return nil
}

// run serves until ctx ends or something breaks, then closes in order: streams,
// what is running, the runner, the store.
func (r *running) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	work.Go(func() {
		if err := r.runner.Run(ctx); err != nil {
			cancel(err)
		}
	})
	if r.retain != nil {
		work.Go(func() {
			if err := r.retain(ctx); err != nil {
				cancel(err)
			}
		})
	}
	hs := r.server.HTTPServer(r.listener.Addr().String())
	work.Go(func() {
		if err := hs.Serve(r.listener); !errors.Is(err, http.ErrServerClosed) {
			cancel(err)
		}
	})
	work.Go(func() { r.rewrap(ctx) })
	<-ctx.Done()

	patience, stop := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer stop()
	err := r.server.Close(patience)
	err = errors.Join(err, hs.Shutdown(patience))
	work.Wait()
	err = errors.Join(err, r.close())
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// close gives back what is open.
func (r *running) close() (err error) {
	if r.listener != nil {
		if e := r.listener.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	if r.ledger != nil {
		err = errors.Join(err, r.ledger.Close())
	}
	if r.store != nil {
		err = errors.Join(err, r.store.Close())
	}
	return err
}

// banner says where everything is, and what to type next.
func (a *app) banner(s *serving, r *running) {
	lines := map[string]string{
		"api": r.url + "/api", "page": r.url + "/", "docs": r.url + "/docs", "store": r.storeURL, "token": r.tokenFile,
		"pid": strconv.Itoa(os.Getpid()),
	}
	next := a.nextCommand(s, r)
	if p := r.ledger.Posture(); p.EncryptsAtRest {
		lines["encryptionKey"] = p.EncryptionKey
	}
	if a.JSON {
		lines["next"] = next
		_ = a.Encode(lines) // nobody reads it: the server runs all the same
		return
	}
	store := r.storeURL
	if store == "memory:" {
		store += " (gone when this process ends)"
	}
	fields := []string{"API", lines["api"], "Page", lines["page"], "Docs", lines["docs"], "Store", store}
	if id := lines["encryptionKey"]; id != "" {
		fields = append(fields, "Encrypted", "with key "+id)
		if s.sample {
			fields = append(fields, "Effects", "effects.log has keys and times alone; the rest is in the store")
		}
	}
	token := r.tokenFile
	if r.tokenGone {
		token += " (no longer good; make another: posthouse token create --role operator)"
	}
	a.Fields(append(fields, "Token file", token, "PID", lines["pid"])...)
	a.Line("\nnext: %s", next)
}

// nextCommand is what to type in another terminal; it names what differs from
// the defaults, so that it works as it is.
func (a *app) nextCommand(s *serving, r *running) string {
	cmd := "posthouse inbox"
	if s.sample {
		cmd = `posthouse send dispatch "please refund order 1234"`
	}
	if a.dataDir != "" {
		cmd += " --data-dir " + quoted(a.dataDir)
	}
	if r.url != defaultServer {
		cmd += " --server " + r.url
	}
	return cmd
}

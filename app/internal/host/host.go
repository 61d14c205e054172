package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/address"
	"github.com/posthouse/posthouse/app/internal/datadir"
	"github.com/posthouse/posthouse/app/internal/systemd"
	"github.com/posthouse/posthouse/dispatch"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/server"
	"github.com/posthouse/posthouse/server/metrics"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/task/standalone"
	"github.com/posthouse/posthouse/trace"
)

// A Host is a server with all that it has open. [Open] makes one; [Host.Run] or
// [Host.Close] ends it.
type Host struct {
	Ledger    *ledger.Ledger
	Server    *server.Server
	Listener  net.Listener
	URL       string    // of the server, as in http://127.0.0.1:8095
	StoreURL  string    // to show: without passwords
	TokenFile string    // of the first token
	TokenGone bool      // what is in it was revoked, or has expired
	Set       Set       // what runs
	Link      link.Link // beside HTTP, for workers; may be nil

	opened   opened
	runner   *runner.Runner
	tasks    *dispatch.Dispatcher
	notifier *notify.Notifier // nil: no message is sent
	log      *slog.Logger
	beside   []func(context.Context) error // what runs beside the server; an error ends the host
	rotating bool                          // there are encryption keys of the past
	metrics  *metrics.Metrics
	exporter trace.Exporter // of traces; nil: nothing is exported
	drain    time.Duration
	manager  string // socket of the service manager; "" is no socket
}

// Open starts everything and closes it again if anything fails.
func Open(ctx context.Context, o *Options) (_ *Host, err error) {
	h := &Host{log: o.Logger, manager: o.Manager, metrics: metrics.New(), drain: cmp.Or(o.DrainTimeout, DefaultDrainTimeout)}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if err := h.listen(o); err != nil {
		return nil, err
	}
	url := cmp.Or(o.Store, o.Dir.StoreURL())
	h.StoreURL = address.Redacted(url)
	if err := o.Dir.Create(); err != nil {
		return nil, err
	}
	source := Source{URL: url, Dir: o.Dir, Open: o.OpenStore, New: o.NewStore, Owner: true, AllowWeak: o.AllowWeak, Logger: h.log}
	h.opened.store, err = source.OpenStore(ctx)
	if err != nil { // a refused address leaves no keys
		return nil, err
	}
	key, err := o.signingKey()
	if err != nil {
		return nil, err
	}
	ts, err := h.openTokens(o.Dir)
	if err != nil {
		return nil, err
	}
	lo := ledger.Options{Signer: key, Validate: gate.Validator(), Logger: h.log, MaxState: int(o.MaxState), Appended: h.metrics.Appended}
	if err := h.openTraces(ctx, o, &lo); err != nil {
		return nil, err
	}
	lo.Cipher, h.rotating, err = o.cipher(ctx, h.opened.store)
	if err != nil {
		return nil, err
	}
	if err := h.fill(ctx, o, lo); err != nil {
		return nil, err
	}
	lo.Owner = processName()
	h.Ledger, err = ledger.Open(h.opened.store, &lo)
	if err != nil {
		return nil, err
	}
	if err := unsealed(ctx, h.Ledger, KeysPath(o.Keys, o.Dir)); err != nil {
		return nil, err
	}
	if err := h.followEnds(ctx, &source); err != nil {
		return nil, err
	}
	return h, h.assemble(ctx, o, ts)
}

// openTokens opens the directory's tokens, and makes the first at a first start.
func (h *Host) openTokens(dir datadir.Dir) (*tokens.List, error) {
	ts, err := tokens.Open(string(dir), nil)
	if err != nil {
		return nil, err
	}
	h.TokenFile, _, err = ts.First()
	if err != nil {
		return nil, err
	}
	if secret, err := datadir.ReadToken(h.TokenFile); err == nil {
		_, ok, err := ts.Authenticate(secret)
		if err != nil {
			return nil, err
		}
		h.TokenGone = !ok
	}
	return ts, nil
}

// assemble makes the programs, their runner and the server.
func (h *Host) assemble(ctx context.Context, o *Options, ts *tokens.List) (err error) {
	if o.Retain.LetsGo() {
		h.beside = append(h.beside, func(ctx context.Context) error { return retain.Every(ctx, h.Ledger, o.Retain, o.RetainEvery) })
	}
	if o.Programs != nil {
		set, err := o.Programs(ctx, &Env{Ledger: h.Ledger, Dir: string(o.Dir), Logger: h.log})
		if err != nil {
			return err
		}
		if set != nil {
			h.Set = *set
		}
	}
	so := server.Options{
		Ledger: h.Ledger, Metrics: h.metrics, Tokens: ts, Logger: h.log, LogLevel: o.LogLevel, Profiles: o.Profiles, AllowedHosts: o.AllowedHosts, TrustProxy: o.TrustProxy,
		Name: o.Name, Version: o.Version, Demo: o.Fill != nil, Recover: h.Set.Recover, TraceURL: o.TraceURL,
	}
	so.Programs = h.Set.described()
	so.Scratch = func() posthouse.Store { return memstore.New() }
	so.PublicKeys = func() (*sign.Ring, error) { return sign.LoadRing(o.Dir.Key() + sign.PublicSuffix) }
	if h.exporter != nil {
		so.Tracer = h.exporter
	}
	so.SignIn, err = o.signIn()
	if err != nil {
		return err
	}
	so.Agents, err = h.Set.agents()
	if err != nil {
		return err
	}
	if o.MaxState > 0 { // in base64, with room for what else a body says
		so.Limits.State = max(o.MaxState*3/2, 1<<20)
	}
	alone, err := standalone.Open(h.Ledger)
	if err != nil {
		return err
	}
	so.Starter = alone
	programs := append(slices.Clone(h.Set.Programs), alone.Program())
	h.runner, err = runner.New(h.Ledger, &runner.Options{Programs: programs, Logger: h.log, DrainTimeout: h.drain, Emitted: h.emitted})
	if err != nil {
		return err
	}
	so.Runner = h.runner
	if err := h.openLink(ctx, o, ts); err != nil {
		return err
	}
	so.Letters = o.Letters
	do := dispatch.Options{Logger: h.log, Stream: h.stream, Concurrency: o.TaskConcurrency}
	if h.Link != nil {
		do.Hints, so.Letters = h.Link.Queue(), h.Link.Letters()
	}
	h.tasks, err = dispatch.New(h.Ledger, &do)
	if err != nil {
		return err
	}
	so.Tasks = h.tasks
	if o.Work != nil {
		h.beside = append(h.beside, func(ctx context.Context) error { return o.Work(ctx, h.tasks) })
	}
	if len(o.Endpoints) > 0 {
		h.notifier, err = notify.New(h.Ledger, o.Endpoints, &notify.Options{
			URL: o.PagesURL, Logger: h.log,
			Approve: func(ctx context.Context, r *notify.ApprovalRequest) (*notify.Approval, error) {
				return h.Server.Approval(ctx, r)
			},
			Decide: func(ctx context.Context, id posthouse.ID, d posthouse.Decision) (*posthouse.Gate, error) {
				return h.Server.Decide(ctx, id, d)
			},
		})
		if err != nil {
			return err
		}
		so.Notifier = h.notifier
	}
	h.Server, err = server.New(so)
	return err
}

// openLink connects to where workers come beside HTTP. Tokens let them in to a server in
// this process, as they do over HTTP.
func (h *Host) openLink(ctx context.Context, o *Options, ts *tokens.List) (err error) {
	if o.Link == nil {
		return nil
	}
	if o.OpenLink == nil {
		return &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: "this binary is built without what links workers",
			Hint: "give Programs.OpenLink, as natslink.Open of package task/natslink; or let workers come over HTTP",
		}
	}
	lo := *o.Link
	lo.Logger = h.log
	lo.Allow = func(token string) (bool, error) {
		who, ok, err := ts.Authenticate(token)
		return ok && who.Role.May(tokens.Worker), err
	}
	lo.Pass = passes(ts)
	h.Link, err = o.OpenLink(ctx, &lo)
	return err
}

// stream sends what a handler reports to those who follow its thread.
func (h *Host) stream(_ context.Context, thread, step string, chunk []byte) {
	h.relay(task.Chunk{Thread: thread, Step: step, Value: chunk})
}

// maxEmission bounds what is sent of a report of a program, in bytes. Larger ones are dropped: clients
// that read slowly hold some of them.
const maxEmission = 256 << 10

// emitted sends what a program reports to the same. A value that is no JSON is dropped.
func (h *Host) emitted(e *runner.Emission) {
	c := task.Chunk{Thread: e.Thread, Step: e.Step, Text: e.Text}
	if e.Custom {
		value, err := json.Marshal(e.Value)
		if err != nil {
			h.log.Debug("a value that a program emits is not shown", "thread", e.Thread, "step", e.Step, "error", err)
			return
		}
		c.Value = value
	}
	if len(c.Text)+len(c.Value) > maxEmission {
		h.log.Debug("a report of a program is not shown: it is too large", "thread", e.Thread, "step", e.Step, "bytes", len(c.Text)+len(c.Value))
		return
	}
	h.relay(c)
}

// relay sends a chunk to clients here, and to the engines that share the link.
func (h *Host) relay(c task.Chunk) {
	h.Server.Chunk(c)
	if h.Link == nil {
		return
	}
	if err := h.Link.Share(c); err != nil {
		h.log.Debug("a chunk was not shared", "thread", c.Thread, "error", err)
	}
}

// Run serves until ctx ends or something breaks, then closes in order: streams,
// what is running, the runner, the store.
func (h *Host) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var work sync.WaitGroup
	if h.Link != nil {
		leave, err := h.Link.Serve(h.tasks)
		if err != nil {
			return errors.Join(err, h.Close())
		}
		stop, err := h.Link.Follow(h.Server.Chunk)
		if err != nil {
			leave()
			return errors.Join(err, h.Close())
		}
		work.Go(func() { <-ctx.Done(); stop(); leave() })
	}
	work.Go(func() {
		if err := h.runner.Run(ctx); err != nil {
			cancel(err)
		}
	})
	work.Go(func() {
		if err := h.tasks.Run(ctx); err != nil {
			cancel(err)
		}
	})
	if h.notifier != nil {
		work.Go(func() {
			if err := h.notifier.Run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	for _, do := range h.beside {
		work.Go(func() {
			if err := do(ctx); err != nil {
				cancel(err)
			}
		})
	}
	hs := h.Server.HTTPServer(h.Listener.Addr().String())
	work.Go(func() {
		if err := hs.Serve(h.Listener); !errors.Is(err, http.ErrServerClosed) {
			cancel(err)
		}
	})
	work.Go(func() { h.Rewrap(ctx) })
	h.tell(systemd.Ready, systemd.Status("serving "+h.URL))
	<-ctx.Done()
	h.tell(systemd.Stopping, systemd.Status("draining"))

	patience, stop := context.WithTimeout(context.WithoutCancel(ctx), h.drain)
	defer stop()
	err := h.Server.Close(patience)
	err = errors.Join(err, hs.Shutdown(patience))
	work.Wait()
	err = errors.Join(err, h.Close())
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// tell tells the service manager how the host is. One that does not listen is no reason to end.
func (h *Host) tell(states ...string) {
	if err := systemd.Notify(h.manager, states...); err != nil {
		h.log.Warn("the service manager was not told", "states", states, "error", err)
	}
}

// Close closes what is open.
func (h *Host) Close() (err error) {
	if h.Listener != nil {
		if e := h.Listener.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	if h.Link != nil {
		err = errors.Join(err, h.Link.Close())
	}
	if h.Ledger != nil {
		err = errors.Join(err, h.Ledger.Close())
	}
	err = errors.Join(err, h.opened.close())
	h.closeTraces()
	return err
}

package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/traceid"
	"github.com/posthouse/posthouse/server/internal/about"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/internal/operate"
	"github.com/posthouse/posthouse/server/internal/probe"
	"github.com/posthouse/posthouse/server/metrics"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/trace"
)

// A middleware is what every request passes first, known path or not.
type middleware struct {
	hosts   api.Hosts
	proxies api.Proxies   // may be nil
	unread  *limit.Unread // bytes of answers
	log     *slog.Logger
	wall    func() time.Time
	metrics *metrics.Metrics
	tracer  trace.Tracer                                  // may be nil
	slash   func(http.ResponseWriter, *http.Request) bool // see [page.Slash]
	knows   func(*http.Request) bool                      // whether a request is from somebody who may say which trace it belongs to
}

// wrap returns a handler that screens and logs each request before next answers it.
func (m *middleware) wrap(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(hw http.ResponseWriter, r *http.Request) {
		start := m.wall()
		if len(m.proxies) > 0 {
			r.RemoteAddr = net.JoinHostPort(m.proxies.Client(r), "0") // for the log, the record and the bounds of addresses
		}
		id := newRequestID()
		r, traceID, traced := m.trace(r)
		w := &api.Recorder{ResponseWriter: hw, Unread: m.unread}
		defer traced(w)
		defer m.finish(w, r, id, traceID, start)
		h := w.Header()
		h.Set(problem.RequestIDHeader, id)
		h.Set(problem.TraceIDHeader, traceID)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // not no-referrer: with that, browsers send the login form with Origin: null
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		if err := m.screen(cross, r); err != nil {
			if m.screenSender(cross, r) == nil && m.slash(w, r) {
				return
			}
			api.NoteError(w, err)
			problem.Write(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// screen refuses a foreign Host (DNS rebinding), a request that a page of another
// origin makes, and a path that means something else once decoded. A probe may name
// any Host.
func (m *middleware) screen(cross *http.CrossOriginProtection, r *http.Request) error {
	if err := m.screenSender(cross, r); err != nil {
		return err
	}
	return api.ScreenPath(r.URL.EscapedPath())
}

// screenSender is screen without the path.
func (m *middleware) screenSender(cross *http.CrossOriginProtection, r *http.Request) error {
	if !m.hosts.Allows(r.Host) && !isProbe(r) {
		return &posthouse.Error{
			Code: problem.CodeHost, Message: fmt.Sprintf("this server does not answer for the host %.80q", r.Host),
			Hint: "use the address it prints at the start, or allow the name where it is started",
		}
	}
	foreign := &posthouse.Error{Code: posthouse.CodeForbidden, Message: "requests from other origins are refused", Hint: "open the page of this server itself"}
	if cross.Check(r) != nil {
		return foreign
	}
	if o := r.Header.Get("Origin"); o != "" {
		if u, err := url.Parse(o); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return foreign
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		// A link may lead here: the strict cookie does not come along.
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" || strings.HasPrefix(r.URL.Path, "/api/") {
			return foreign
		}
	}
	return nil
}

// isProbe reports whether a request asks after health, the version or metrics. Orchestrators, load
// balancers and scrapers send the address of the machine or container as Host, which is not known
// beforehand. The answers say nothing of a thread, and metrics need a token in a header or a
// cookie, which a page under a foreign name does not have.
func isProbe(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.URL.Path {
	case probe.LivePath, probe.ReadyPath, about.VersionPath, operate.MetricsPath:
		return true
	}
	return false
}

// finish ends every request and logs it in one line. The line has no query,
// header or body, since those hold secrets. A panic becomes a 500 without
// details.
func (m *middleware) finish(w *api.Recorder, r *http.Request, id, traceID string, start time.Time) {
	if p := recover(); p != nil {
		if p == http.ErrAbortHandler {
			panic(p)
		}
		w.Err = &posthouse.Error{Code: problem.CodeInternal, Message: "panic"}
		m.log.Error("a handler panicked", "request", id, "trace_id", traceID, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if w.Status != 0 {
			panic(http.ErrAbortHandler) // half an answer must not look like a whole one
		}
		problem.Write(w, errors.New("panic"))
	}
	took := m.wall().Sub(start)
	m.count(w, r, took)
	attrs := []any{"request", id, "method", r.Method, "route", "", "status", w.Status, "ms", took.Milliseconds()}
	if w.Route != nil {
		attrs[5] = w.Route.Path
	}
	attrs = append(attrs, "trace_id", traceID)
	if w.Actor != "" {
		attrs = append(attrs, "actor", w.Actor)
	}
	level := slog.LevelInfo
	if w.Err != nil {
		attrs = append(attrs, "code", string(problem.Client(w.Err).Code))
		// A server that has no such thing, as 501 says, does not fail.
		if w.Status >= 500 && w.Status != http.StatusNotImplemented && !errors.Is(w.Err, context.Canceled) {
			level = slog.LevelError
			attrs = append(attrs, "error", w.Err.Error())
		}
	}
	m.log.Log(r.Context(), level, "request", attrs...)
}

// knownMethod returns the method of a request for names of spans, so that no client makes up names.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "_OTHER"
}

// count counts a request by its line of the table, so that no client makes up a label.
func (m *middleware) count(w *api.Recorder, r *http.Request, took time.Duration) {
	if w.Route == nil || w.Route.Method == "" {
		m.metrics.Request("", "", w.Status, took)
		return
	}
	if w.Route.Style == api.Stream || w.Route.Style == api.Socket {
		took = -1
	}
	m.metrics.Request(w.Route.Path, r.Method, w.Status, took)
}

// trace returns the request within its trace, the trace's id, and a function to call when it was
// answered. The trace is that of a client with a valid token, or a new one: a stranger decides neither
// what is sampled nor to which trace it belongs.
func (m *middleware) trace(r *http.Request) (_ *http.Request, id string, answered func(*api.Recorder)) {
	sent := r.Header.Get(traceid.Header)
	c, ok := traceid.Parse(sent)
	if !ok || !m.knows(r) {
		c, sent = traceid.New(), ""
	}
	if m.tracer == nil || isProbe(r) {
		return r, c.TraceID(), func(*api.Recorder) {}
	}
	ctx, end := m.tracer.Start(r.Context(), &trace.Span{Kind: trace.KindRequest, Name: knownMethod(r.Method), Parent: sent})
	if own, ok := traceid.Parse(m.tracer.Traceparent(ctx)); ok {
		c = own
	}
	return r.WithContext(ctx), c.TraceID(), func(w *api.Recorder) {
		e := trace.End{Code: w.Status, Err: w.Err}
		if w.Route != nil {
			e.Route = w.Route.Path
		}
		end(&e)
	}
}

// newRequestID returns 64 random bits that name a request in the log and in its
// problem.
func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}

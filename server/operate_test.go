package server

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/traceid"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/trace"
)

// TestLogLevel sets what a running server logs, as an operator only.
func TestLogLevel(t *testing.T) {
	var level slog.LevelVar
	level.Set(slog.LevelError)
	log := &lockedBuffer{}
	h := open(t, func(o *Options) {
		o.Letters, o.LogLevel, o.Logger = nil, &level, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: &level}))
	})
	put := func(body string) *reply {
		return h.send(ask{method: "PUT", path: "/api/log-level", body: body})
	}
	h.get("/api/gates").want(http.StatusOK)
	h.get("/api/dead-letters").want(http.StatusNotImplemented) // a server without NATS does not fail
	if log.String() != "" {
		t.Errorf("a server that logs errors logs %s", log)
	}
	var now struct{ Level string }
	put(`{"level":"info"}`).want(http.StatusOK).into(&now)
	h.get("/api/gates").want(http.StatusOK)
	if now.Level != "info" || !strings.Contains(log.String(), "route=/api/gates") {
		t.Errorf("the level is %q, and the log %s", now.Level, log)
	}
	for _, body := range []string{`{"level":"loud"}`, `{"level":"INFO+4"}`, `{}`} {
		if p := put(body).refused(posthouse.CodeInvalid); p.Field != "level" {
			t.Errorf("%s names %q", body, p.Field)
		}
	}
	if level.Level() != slog.LevelInfo {
		t.Errorf("what was refused set %s", level.Level())
	}
	h.send(ask{method: "PUT", path: "/api/log-level", body: `{"level":"debug"}`, as: tokens.Approver}).refused(posthouse.CodeForbidden)
}

func TestLogLevelThatIsFixed(t *testing.T) {
	h := open(t, nil)
	h.get("/api/log-level").refused(posthouse.CodeUnsupported)
	h.send(ask{method: "PUT", path: "/api/log-level", body: `{"level":"debug"}`}).refused(posthouse.CodeUnsupported)
}

// TestProfiles are there for operators, where they were asked for.
func TestProfiles(t *testing.T) {
	open(t, nil).get("/debug/pprof/heap").refused(posthouse.CodeNotFound)

	h := open(t, func(o *Options) { o.Profiles = true })
	for _, name := range []string{"heap", "goroutine", "allocs", "profile?seconds=1", "trace?seconds=1"} {
		a := h.get("/debug/pprof/" + name).want(http.StatusOK)
		if len(a.body) == 0 || a.header.Get("Content-Type") != "application/octet-stream" {
			t.Errorf("%s answers %d bytes of %q", name, len(a.body), a.header.Get("Content-Type"))
		}
	}
	if a := h.get("/debug/pprof/goroutine?debug=1").want(http.StatusOK); !bytes.Contains(a.body, []byte("goroutine profile:")) {
		t.Errorf("in text it is %.100s", a.body)
	}
	h.get("/debug/pprof/nothing").refused(posthouse.CodeNotFound)
	h.get("/debug/pprof/profile?seconds=61").refused(posthouse.CodeInvalid)
	h.send(ask{method: "GET", path: "/debug/pprof/heap", as: tokens.Approver}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "GET", path: "/debug/pprof/heap", as: "-"}).refused(problem.CodeUnauthenticated)
}

// TestTraceIDs has the client's trace in the answer, the problem and the log, and a new one where
// the client names none, or not in the exact form.
func TestTraceIDs(t *testing.T) {
	h := open(t, nil)
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	ours := ask{method: "GET", path: "/api/gates/missing", header: []string{"Traceparent: 00-" + trace + "-00f067aa0ba902b7-01"}}
	a := h.send(ours)
	if p := a.refused(posthouse.CodeNotFound); p.TraceID != trace || a.header.Get(problem.TraceIDHeader) != trace {
		t.Errorf("the trace is %q, in the header %q", p.TraceID, a.header.Get(problem.TraceIDHeader))
	}
	if !strings.Contains(h.log.String(), `"trace_id":"`+trace+`"`) {
		t.Errorf("the log has no trace: %s", h.log)
	}
	stranger := ours
	stranger.as = "-"
	if p := h.send(stranger).refused(problem.CodeUnauthenticated); p.TraceID == trace || p.TraceID == "" {
		t.Errorf("a stranger's request belongs to the trace %q", p.TraceID)
	}
	seen := map[string]bool{trace: true}
	for _, sent := range []string{"", "00-" + trace + "-00f067aa0ba902b7", "00-" + strings.ToUpper(trace) + "-00f067aa0ba902b7-01", strings.Repeat("x", 5000)} {
		id := h.send(ask{method: "GET", path: "/healthz", header: []string{"Traceparent: " + sent}}).header.Get(problem.TraceIDHeader)
		if _, ok := traceid.Parse("00-" + id + "-00f067aa0ba902b7-01"); !ok || seen[id] {
			t.Errorf("for %.60q the trace is %q", sent, id)
		}
		seen[id] = true
	}
}

// A tracing is a Tracer that keeps what the server told it of requests.
type tracing struct {
	mu    sync.Mutex
	spans []trace.Span
	ends  []trace.End
}

func (tr *tracing) Start(ctx context.Context, s *trace.Span) (context.Context, func(*trace.End)) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.spans = append(tr.spans, *s)
	return context.WithValue(ctx, tracingKey{}, "00-11111111111111111111111111111111-2222222222222222-01"), func(e *trace.End) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		tr.ends = append(tr.ends, *e)
	}
}

type tracingKey struct{}

func (*tracing) Traceparent(ctx context.Context) string {
	s, _ := ctx.Value(tracingKey{}).(string)
	return s
}

// TestRequestsAreTraced by their routes, below the client's span; probes are not.
func TestRequestsAreTraced(t *testing.T) {
	tr := &tracing{}
	h := open(t, func(o *Options) { o.Tracer = tr })
	const sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	a := h.send(ask{method: "GET", path: "/api/gates/missing", header: []string{"Traceparent: " + sent}})
	h.send(ask{method: "GET", path: "/healthz", header: []string{"Traceparent: " + sent}})
	h.send(ask{method: "GET", path: "/api/gates", header: []string{"Traceparent: not one"}})
	h.send(ask{method: "BREW", path: "/api/gates"})
	h.http.Close() // all have ended
	if len(tr.spans) != 3 || tr.spans[2].Name != "_OTHER" || tr.spans[0].Parent != sent || tr.spans[0].Kind != trace.KindRequest || tr.spans[0].Name != "GET" || tr.spans[1].Parent != "" {
		t.Fatalf("the spans are %+v", tr.spans)
	}
	if e := tr.ends[0]; e.Route != "/api/gates/{id}" || e.Code != http.StatusNotFound || e.Err == nil {
		t.Errorf("the first ends as %+v", e)
	}
	if id := a.header.Get(problem.TraceIDHeader); id != strings.Repeat("1", 32) {
		t.Errorf("its trace is %q, and not that of its span", id)
	}
}

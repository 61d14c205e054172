package otel_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/otel"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/step"
)

// serveIn names the data directory of a process that serves for a test.
const serveIn = "POSTHOUSE_OTEL_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveIn); dir != "" {
		serve(dir)
		return
	}
	os.Exit(m.Run())
}

// A Refund is paid once somebody has approved it.
type Refund struct{ Amount int }

// serve serves a program that looks up, asks, and pays.
func serve(dir string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	open := func(_ context.Context, env *app.Env) (*app.Set, error) {
		g := graph.New[Refund]("refunds")
		g.Node("refund", func(ctx context.Context, r *Refund) error {
			if _, err := step.Do(ctx, "look up", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return err
			}
			a, err := gate.Ask[int](ctx, gate.Question{Name: "pay?"})
			if err != nil || !a.Approved() {
				return err
			}
			_, err = step.DoWith(ctx, "pay", step.Options{Effect: posthouse.EffectExternal}, func(context.Context) (int, error) { return r.Amount, nil })
			return err
		})
		g.Edge(graph.Start, "refund")
		g.Edge("refund", graph.End)
		a, err := g.Compile(env.Ledger, nil)
		if err != nil {
			return nil, err
		}
		return &app.Set{Programs: a.Programs()}, nil
	}
	err := app.Serve(ctx, &app.Options{
		Programs: app.Programs{Open: open, OpenTraces: otel.Open, Name: "refunds", Version: "v1.2.3"}, Dir: dir, Addr: "127.0.0.1:0",
		Ready: func(i *app.Info) { fmt.Println(i.URL) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A collector takes OTLP over HTTP.
type collector struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*spanpb.Span
	services []string
	metrics  []string
	bodies   bytes.Buffer // all that came
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies.Write(body)
		switch r.URL.Path {
		case "/v1/traces":
			c.takeTraces(t, body)
		case "/v1/metrics":
			c.takeMetrics(t, body)
		default:
			t.Errorf("a collector is asked for %s", r.URL.Path)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) takeTraces(t *testing.T, body []byte) {
	var in tracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &in); err != nil {
		t.Error(err)
	}
	for _, r := range in.ResourceSpans {
		for _, a := range r.Resource.Attributes {
			if a.Key == "service.name" {
				c.services = append(c.services, a.Value.GetStringValue())
			}
		}
		for _, s := range r.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
}

func (c *collector) takeMetrics(t *testing.T, body []byte) {
	var in metricspb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(body, &in); err != nil {
		t.Error(err)
	}
	for _, r := range in.ResourceMetrics {
		for _, s := range r.ScopeMetrics {
			for _, m := range s.Metrics {
				c.metrics = append(c.metrics, m.Name)
			}
		}
	}
}

// named returns the spans of a name that have come.
func (c *collector) named(name string) (found []*spanpb.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// await waits until n spans of a name have come, and returns them.
func (c *collector) await(t *testing.T, name string, n int) []*spanpb.Span {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		if found := c.named(name); len(found) >= n {
			return found
		}
		if time.Now().After(end) {
			t.Fatalf("%d spans %q do not come", n, name)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A process serves in a data directory.
type process struct {
	t          *testing.T
	cmd        *exec.Cmd
	url, token string
}

func start(t *testing.T, dir string, c *collector) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), serveIn+"="+dir, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_SERVICE_NAME=payments")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := fmt.Fscanln(out, &p.url); err != nil {
		t.Fatalf("the server does not start: %v", err)
	}
	token, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	p.token = strings.TrimSpace(string(token))
	return p
}

// send sends a request and reads the answer into out.
func (p *process) send(method, path, body, traceparent string, out any) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if traceparent != "" {
		req.Header.Set("traceparent", traceparent)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		p.t.Fatalf("%s %s: %d %s, %v", method, path, resp.StatusCode, answer, err)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		p.t.Fatalf("%s %s: %s: %v", method, path, answer, err)
	}
}

// tokenOf makes a token of an approver while nobody serves.
func tokenOf(dir, name string) (string, error) {
	ts, err := tokens.Open(dir, nil)
	if err != nil {
		return "", err
	}
	return ts.Create(name, tokens.Approver, nil)
}

// TestTraceGoesOnAfterAKill follows one thread from a client's request to its effect, with a
// process that is killed in between: all is one trace, and no step is in it twice.
func TestTraceGoesOnAfterAKill(t *testing.T) {
	const trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	c, dir := newCollector(t), t.TempDir()
	p := start(t, dir, c)
	var run struct{ Thread string }
	p.send("POST", "/api/programs/refunds/runs", `{"input":{"Amount":70123}}`, "00-"+trace+"-"+caller+"-01", &run)
	c.await(t, "step look up", 1)
	c.await(t, "node refund", 1)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()

	alice, err := tokenOf(dir, "alice")
	if err != nil {
		t.Fatal(err)
	}
	p = start(t, dir, c)
	var list struct{ Items []struct{ ID string } }
	p.send("GET", "/api/gates", "", "", &list)
	if len(list.Items) != 1 {
		t.Fatalf("the questions are %+v", list)
	}
	p.token = alice // who asked may not approve
	var decided any
	p.send("POST", "/api/gates/"+list.Items[0].ID+"/approve", `{}`, "", &decided)
	pay := c.await(t, "execute_tool pay", 1)
	wait := c.await(t, "posthouse.gate pay?", 1)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil { // sends what is left
		t.Fatalf("the server ends with %v", err)
	}
	request := c.named("POST /api/programs/{program}/runs")
	runs := c.named("invoke_agent refunds")
	if len(request) != 1 || hex.EncodeToString(request[0].ParentSpanId) != caller {
		t.Fatalf("the request is %v", request)
	}
	one := slices.Concat(request, runs, c.named("node refund"), c.named("step look up"), wait, pay)
	for _, s := range one {
		if got := hex.EncodeToString(s.TraceId); got != trace {
			t.Errorf("%s is in trace %s", s.Name, got)
		}
	}
	if len(c.named("step look up")) != 1 || len(c.named("execute_tool pay")) != 1 || len(c.named("posthouse.gate pay?")) != 1 {
		t.Errorf("there are twice: %v", one)
	}
	for _, r := range runs {
		if !bytes.Equal(r.ParentSpanId, request[0].SpanId) {
			t.Errorf("a run is below %x, and the request is %x", r.ParentSpanId, request[0].SpanId)
		}
	}
	if w := wait[0]; len(w.Links) != 1 || w.EndTimeUnixNano <= w.StartTimeUnixNano {
		t.Errorf("the question's span is %v", w)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range []string{"posthouse.step.duration", "posthouse.gate.wait", "posthouse.store.append.duration", "http.server.request.duration", "posthouse.run.duration"} {
		if !slices.Contains(c.metrics, m) {
			t.Errorf("no metric %s came, but %q", m, c.metrics)
		}
	}
	if !slices.Contains(c.services, "payments") {
		t.Errorf("the service is %q", c.services)
	}
	for _, secret := range []string{"70123", p.token, run.Thread + "\"amount"} {
		if bytes.Contains(c.bodies.Bytes(), []byte(secret)) {
			t.Errorf("what is exported has %q", secret)
		}
	}
}

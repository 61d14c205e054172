package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/problem"
)

func TestPostAgent(t *testing.T) {
	h := open(t, nil)
	a := h.post("/api/agents/dispatch", `{"message":"please refund order 1234"}`).want(http.StatusOK)
	var r Reply
	a.into(&r)
	c := h.get("/api/checkpoints/" + string(r.Checkpoint)).want(http.StatusOK).checkpoint()
	if r.Thread == "" || c.Thread != r.Thread || c.Gates[0] != r.Gate || !strings.Contains(r.Text, string(r.Checkpoint)) || !strings.Contains(string(c.State), "1234") {
		t.Errorf("the reply is %s, the checkpoint %+v", a.body, c)
	}
	var g posthouse.Gate
	h.get("/api/gates/" + string(r.Gate)).want(http.StatusOK).into(&g)
	if g.RequestedBy != "operator-token" {
		t.Errorf("the request is %s's", g.RequestedBy)
	}
	h.post("/api/agents/dispatch", `{"message":"x","thread":"order:7"}`).want(http.StatusOK).into(&r)
	if r.Thread != "order:7" {
		t.Errorf("the thread is %s", r.Thread)
	}
	if p := h.post("/api/agents/nobody", `{"message":"x"}`).refused(posthouse.CodeNotFound); !strings.Contains(p.Hint, "dispatch") {
		t.Errorf("the hint is %q", p.Hint)
	}
	h.post("/api/agents/dispatch", ``).refused(posthouse.CodeInvalid)
	h.post("/api/agents/dispatch", `{"message":""}`).refused(posthouse.CodeInvalid)
	h.post("/api/agents/dispatch", `{"message":"x","thread":"a\u0085b"}`).refused(posthouse.CodeInvalid)
	h.post("/api/agents/dispatch", `{"message":"`+strings.Repeat("x", agentcall.MaxMessage+1)+`"}`).refused(posthouse.CodeTooLarge)
}

func TestAgentStream(t *testing.T) {
	h := open(t, nil)
	post := func() *feedReader {
		return h.listen(ask{method: "POST", path: "/api/agents/dispatch", body: `{"message":"x"}`, header: []string{"Accept: application/json;q=0.5, text/event-stream"}})
	}
	f := post()
	f.want("event", "event")
	text := f.want("text")
	done := f.want("done")
	f.wantEnd()
	var r Reply
	must.Do(t, json.Unmarshal([]byte(done.data), &r))
	if !strings.Contains(text.data, string(r.Checkpoint)) || r.Gate == "" {
		t.Errorf("it streams %+v, %+v", text, done)
	}

	h.program.handle = func(_ context.Context, _ string, o *HandleOptions) (*Reply, error) {
		o.Text("line one\nline two \u2028 <b>")
		return nil, &posthouse.Error{Code: posthouse.CodeBusy, Message: "is busy", Err: errors.New("canary")}
	}
	f = post()
	if e := f.want("text"); !strings.Contains(e.data, `line one\nline two`) {
		t.Errorf("a text of two lines is %q", e.data)
	}
	e := f.want("error")
	f.wantEnd()
	if !strings.Contains(e.data, `"code":"busy"`) || strings.Contains(e.data, "canary") {
		t.Errorf("the error is %s", e.data)
	}
	h.post("/api/agents/dispatch", `{"message":"x"}`).refused(posthouse.CodeBusy)

	h.program.handle = func(context.Context, string, *HandleOptions) (*Reply, error) { panic("canary") }
	f = post()
	if e := f.want("error"); !strings.Contains(e.data, `"internal"`) || strings.Contains(e.data, "canary") {
		t.Errorf("a panic is %s", e.data)
	}
	h.post("/api/agents/dispatch", `{"message":"x"}`).refused(problem.CodeInternal)
	if !strings.Contains(h.log.String(), "canary") {
		t.Error("the log does not say why it panicked")
	}
	h.send(ask{method: "POST", path: "/api/agents/nobody", body: `{"message":"x"}`, header: []string{"Accept: text/event-stream"}}).refused(posthouse.CodeNotFound)
}

// working makes the agent report that it works and then wait for go.
func (h *testServer) working() (begun chan context.Context, goOn chan struct{}) {
	begun, goOn = make(chan context.Context, 1000), make(chan struct{})
	h.program.handle = func(ctx context.Context, m string, o *HandleOptions) (*Reply, error) {
		begun <- ctx
		select {
		case <-goOn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		o.Text("after")
		c, err := h.program.ask(ctx, o.Thread, m, o.By)
		if err != nil {
			return nil, err
		}
		return &Reply{Thread: o.Thread, Checkpoint: c.Checkpoint.ID}, nil
	}
	return begun, goOn
}

// TestWorkOutlivesItsClient cuts the connection while the agent works, plain
// and streaming: what it commits afterwards is there.
func TestWorkOutlivesItsClient(t *testing.T) {
	for name, accept := range map[string]string{"plain": "application/json", "stream": "text/event-stream"} {
		t.Run(name, func(t *testing.T) {
			h := open(t, nil)
			begun, goOn := h.working()
			ctx, cancel := context.WithCancel(t.Context())
			r := h.request(ask{method: "POST", path: "/api/agents/dispatch", body: `{"message":"x","thread":"t1"}`, header: []string{"Accept: " + accept}}).WithContext(ctx)
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				if resp, err := h.http.Client().Do(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}()
			work := <-begun
			cancel()
			<-gone
			close(goOn)
			must.Do(t, h.server.Close(t.Context())) // waits for the work
			if work.Err() == nil {
				t.Error("the work's context lives on")
			}
			if _, err := h.ledger.Thread(t.Context(), "t1"); err != nil {
				t.Errorf("what it committed: %v", err)
			}
		})
	}
}

func TestCloseCancelsWorkWhenItsPatienceEnds(t *testing.T) {
	h := open(t, nil)
	begun, _ := h.working()
	h.server.timeout.Wait = time.Nanosecond
	a := h.post("/api/agents/dispatch", `{"message":"x"}`).want(http.StatusAccepted)
	var acc Accepted
	a.into(&acc)
	if acc.Thread == "" || acc.Location != "/api/threads/"+acc.Thread {
		t.Errorf("it says %s", a.body)
	}
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.server.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close says %v", err)
	}
	if h.server.life.Work().Err() == nil {
		t.Error("the work goes on")
	}
}

func TestCallsAreBounded(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Concurrency = 1 })
	begun, goOn := h.working()
	h.server.timeout.Wait = time.Nanosecond
	h.post("/api/agents/dispatch", `{"message":"x"}`).want(http.StatusAccepted)
	<-begun
	h.post("/api/agents/dispatch", `{"message":"x"}`).refused(problem.CodeTooMany)
	close(goOn)
}

// TestSlowClientMissesTextNotTheOutcome begins to listen when all is told: what is
// not kept is a gap, and the work was not held up.
func TestSlowClientMissesTextNotTheOutcome(t *testing.T) {
	h := open(t, nil)
	h.program.handle = func(_ context.Context, _ string, o *HandleOptions) (*Reply, error) {
		for range 10 * feed.Length {
			o.Text("x")
		}
		return &Reply{Text: "done"}, nil
	}
	c, err := resourceOf[*agents](h).calls.Start(agentcall.Message{Agent: "dispatch", Text: "x"})
	must.Do(t, err)
	c.Wait(t.Context())
	var missed, texts, last uint64
	l := c.Feed.Listen(0)
	if !h.server.events.Streams.Pump(t.Context(), l, func(f feed.Frame) error {
		last = f.N
		switch x := f.Data.(type) {
		case feed.Gap:
			missed += x.Missed
		case feed.Text:
			texts++
		}
		return nil
	}, nil) {
		t.Error("the client is gone")
	}
	if texts != feed.Length-1 || missed+texts != 10*feed.Length || last != 10*feed.Length+1 {
		t.Errorf("%d texts and %d missed, up to %d", texts, missed, last)
	}
	if reply, err := c.Outcome(); reply == nil || reply.Text != "done" {
		t.Errorf("the work came to %+v, %v", reply, err)
	}
}

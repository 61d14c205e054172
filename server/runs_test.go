package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/internal/agentcall"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// telling makes the agent tell what comes by the channel, each text once it is
// received, and reply when that is closed.
func (h *testServer) telling() chan<- string {
	texts := make(chan string)
	h.program.handle = func(ctx context.Context, _ string, o *HandleOptions) (*Reply, error) {
		for {
			select {
			case text, more := <-texts:
				if !more {
					return &Reply{Thread: o.Thread, Text: "done"}, nil
				}
				o.Text(text)
				o.Event(AgentEvent{Kind: "told", Data: text})
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return texts
}

// dispatch sends a request and follows it.
func (h *testServer) dispatch(thread string, header ...string) (f *feedReader, run string) {
	h.t.Helper()
	f = h.listen(ask{
		method: "POST", path: "/api/agents/dispatch", body: `{"message":"x","thread":"` + thread + `"}`, header: append(header, "Accept: text/event-stream"),
	})
	run = f.resp.Header.Get(agentcall.RunHeader)
	if posthouse.ID(run).Validate() != nil {
		h.t.Fatalf("the request is %q", run)
	}
	return f, run
}

// wantTexts reads a text and an event for each, and returns the last one's id.
func (f *feedReader) wantTexts(texts ...string) (id string) {
	f.t.Helper()
	for _, text := range texts {
		if e := f.want("text"); e.data != `{"text":"`+text+`"}` {
			f.t.Fatalf("the next text is %s, want %s", e.data, text)
		}
		id = f.want("event").id
	}
	return id
}

// TestRunIsTakenUpAgain loses the connection in the middle of a request: another
// one gets the rest of it, and what is still to come, by each way of naming it.
func TestRunIsTakenUpAgain(t *testing.T) {
	h := open(t, nil)
	texts := h.telling()
	f, run := h.dispatch("t1")
	texts <- "a"
	seen := f.wantTexts("a")
	if seen != run+"/2" {
		t.Errorf("the event of request %s is %s", run, seen)
	}
	f.close()
	texts <- "b"
	again := map[string]*feedReader{
		"last event":          h.listen(ask{method: "GET", path: "/api/run", header: []string{"Last-Event-ID: " + seen}}),
		"parameter":           h.listen(ask{method: "GET", path: "/api/run?after=" + seen}),
		"run and last event":  h.listen(ask{method: "GET", path: "/api/run?run=" + run + "&after=" + seen}),
		"thread and last":     h.listen(ask{method: "GET", path: "/api/run?run=t1&after=" + seen}),
		"header before param": h.listen(ask{method: "GET", path: "/api/run?run=t2&after=x/1", header: []string{agentcall.RunHeader + ": " + run, "Last-Event-ID: " + seen}}),
	}
	whole := map[string]*feedReader{
		"header":              h.listen(ask{method: "GET", path: "/api/run", header: []string{agentcall.RunHeader + ": " + run}}),
		"Atmosphere's header": h.listen(ask{method: "GET", path: "/api/run", header: []string{"X-Atmosphere-Run-Id: " + run}}),
		"its parameter":       h.listen(ask{method: "GET", path: "/api/run?X-Atmosphere-Run-Id=" + run}),
		"thread":              h.listen(ask{method: "GET", path: "/api/run?run=t1"}),
		"another's position":  h.listen(ask{method: "GET", path: "/api/run?run=t1&after=other/9"}),
	}
	for name, f := range whole {
		if f.wantTexts("a"); f.resp.Header.Get(agentcall.RunHeader) != run {
			t.Errorf("%s: the request is %s", name, f.resp.Header.Get(agentcall.RunHeader))
		}
		again[name] = f
	}
	for _, f := range again {
		f.wantTexts("b")
	}
	texts <- "c"
	close(texts)
	for name, f := range again {
		f.wantTexts("c")
		if e := f.want("done"); e.id != run+"/7" || !strings.Contains(e.data, `"text":"done"`) {
			t.Errorf("%s: the end is %+v", name, e)
		}
		f.wantEnd()
	}
	f = h.listen(ask{method: "GET", path: "/api/run?after=" + run + "/6"}) // it has ended since
	f.want("done")
	f.wantEnd()
	f = h.listen(ask{method: "GET", path: "/api/run?after=" + run + "/7"})
	f.wantEnd()
}

// TestRunOfASession is taken up by who says only which session is its own.
func TestRunOfASession(t *testing.T) {
	h := open(t, nil)
	texts := h.telling()
	f, run := h.dispatch("t1", session.Header+": new")
	token := f.resp.Header.Get(session.Header)
	f.want("session")
	texts <- "a"
	f.wantTexts("a")
	f.close()
	if i := h.session(tokens.Operator, token); i.Run != run || i.Thread != "t1" {
		t.Errorf("the session is %+v", i)
	}
	f = h.listen(ask{method: "GET", path: "/api/run?" + session.AtmosphereHeader + "=" + token})
	var i session.SessionInfo
	must.Do(t, json.Unmarshal([]byte(f.want("session").data), &i))
	f.wantTexts("a")
	close(texts)
	f.want("done")
	if i.Run != run || i.Token != token {
		t.Errorf("the session is %+v", i)
	}
	h.server.life.Wait()
	if i := h.session(tokens.Operator, token); i.Run != "" || i.Thread != "t1" {
		t.Errorf("behind the end the session is %+v", i)
	}
	if strings.Contains(h.log.String(), token) {
		t.Error("the session's token is in the log")
	}
}

// TestRunOfAnother is not found, whichever way it is named, nor one that is long
// over.
func TestRunOfAnother(t *testing.T) {
	clock := newTestClock()
	h := open(t, func(o *Options) { o.Now = clock.now })
	texts := h.telling()
	f, run := h.dispatch("t1")
	texts <- "a"
	seen := f.wantTexts("a")
	other, err := h.tokens.Create("other", tokens.Operator, nil)
	must.Do(t, err)
	for _, by := range []string{"?run=" + run, "?run=t1", "?after=" + seen, "?run=nothing", "?X-Atmosphere-Run-Id=" + run} {
		h.send(ask{method: "GET", path: "/api/run" + by, header: []string{"Authorization: Bearer " + other}}).refused(posthouse.CodeNotFound)
	}
	h.send(ask{method: "GET", path: "/api/run?run=" + run, as: tokens.Approver}).refused(posthouse.CodeForbidden)
	h.send(ask{method: "GET", path: "/api/run?run=" + run, as: "-"}).refused(problem.CodeUnauthenticated)
	for _, bad := range []string{"", "?after=x", "?after=x/y", "?after=a%20b/1", "?run=a%0ab", "?session=new"} {
		h.get("/api/run" + bad).refused(posthouse.CodeInvalid)
	}
	h.send(ask{method: "GET", path: "/api/run", header: []string{agentcall.AtmosphereRunHeader + ": " + strings.Repeat("x", 201)}}).refused(posthouse.CodeInvalid)
	close(texts)
	f.want("done")
	f.wantEnd()
	h.server.life.Wait()
	clock.add(agentcall.KeepEnded - time.Second)
	h.listen(ask{method: "GET", path: "/api/run?run=" + run}).wantTexts("a")
	clock.add(time.Second)
	h.get("/api/run?run=" + run).refused(posthouse.CodeNotFound)
}

// TestRunsThatEndedAreBounded keeps no more of them than may be worked on.
func TestRunsThatEndedAreBounded(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Concurrency = 3 })
	h.program.handle = func(_ context.Context, m string, o *HandleOptions) (*Reply, error) {
		return &Reply{Thread: o.Thread}, nil
	}
	var ids []string
	for i := range 5 {
		a := h.send(ask{method: "POST", path: "/api/agents/dispatch", body: fmt.Sprintf(`{"message":"x","thread":"t%d"}`, i)}).want(http.StatusOK)
		ids = append(ids, a.header.Get(agentcall.RunHeader))
		h.server.life.Wait()
	}
	for i, id := range ids {
		if c := resourceOf[*agents](h).calls.Known.Find(id, "operator-token"); (c != nil) != (i >= 2) {
			t.Errorf("request %d is found: %v", i, c != nil)
		}
	}
}

// TestRunWhoseTokenIsRevoked ends for its client, and goes on.
func TestRunWhoseTokenIsRevoked(t *testing.T) {
	h := open(t, nil)
	texts := h.telling()
	f, run := h.dispatch("t1")
	texts <- "a"
	f.wantTexts("a")
	must.Do(t, h.tokens.Revoke("operator-token", &tokens.RevokeOptions{LastOperator: true}))
	h.ticks <- time.Time{}
	f.wantEnd()
	texts <- "b"
	close(texts)
	h.server.life.Wait()
	if c := resourceOf[*agents](h).calls.Known.Find(run, "operator-token"); c == nil {
		t.Error("the request is not known")
	} else if reply, err := c.Outcome(); err != nil || reply.Text != "done" {
		t.Errorf("it came to %+v, %v", reply, err)
	}
}

// A numbered frame is one with the id that it is taken up by.
type numbered struct {
	wireFrame
	ID string
}

func (c *talk) frame() (f numbered) {
	c.t.Helper()
	_, data, err := c.conn.Read(c.ctx)
	must.Do(c.t, err)
	must.Do(c.t, json.Unmarshal(data, &f))
	return f
}

func (c *talk) wantTexts(texts ...string) (id string) {
	c.t.Helper()
	for _, text := range texts {
		if f := c.frame(); f.Type != "text" || f.Text != text {
			c.t.Fatalf("the next frame is %+v, want the text %s", f, text)
		}
		id = c.frame().ID
	}
	return id
}

// TestSocketTakesUpARun connects again in the middle of a request, by each way of
// saying who it is and where it was; then it talks on.
func TestSocketTakesUpARun(t *testing.T) {
	h := open(t, nil)
	texts := h.telling()
	c := h.mustDial("/agent/dispatch?thread=t1", nil, h.bearer(tokens.Operator))
	c.say("x")
	texts <- "a"
	seen := c.wantTexts("a")
	run, _, _ := strings.Cut(seen, "/")
	must.Do(t, c.conn.CloseNow())
	texts <- "b"
	login, _ := json.Marshal(map[string]string{"token": h.secrets[tokens.Operator]})
	again := map[string]*talk{
		"headers":    h.mustDial("/atmosphere/agent/dispatch", nil, h.bearer(tokens.Operator), agentcall.AtmosphereRunHeader+": "+run, "Last-Event-ID: "+seen),
		"parameters": h.mustDial("/agent/dispatch?run=t1&after="+seen, nil, h.bearer(tokens.Operator)),
		"message":    h.mustDial("/agent/dispatch?"+agentcall.AtmosphereRunHeader+"="+run+"&after="+seen, nil),
	}
	again["message"].say(string(login))
	for _, c := range again {
		c.wantTexts("b")
	}
	whole := h.mustDial("/agent/dispatch?run="+run, nil, h.bearer(tokens.Operator))
	whole.wantTexts("a", "b")
	again["whole"] = whole
	texts <- "c"
	close(texts)
	for name, c := range again {
		c.wantTexts("c")
		if f := c.frame(); f.Type != "reply" || f.Reply.Text != "done" || f.ID != run+"/7" {
			t.Errorf("%s: the end is %+v", name, f)
		}
		c.say("one more")
		if f := c.frame(); f.Type != "reply" || f.Reply.Text != "done" || strings.HasPrefix(f.ID, run) {
			t.Errorf("%s: the next request has %+v", name, f)
		}
	}
}

// TestSocketOfARunThatIsNotThere says so, and talks on.
func TestSocketOfARunThatIsNotThere(t *testing.T) {
	h := open(t, nil)
	texts := h.telling()
	f, run := h.dispatch("t1")
	texts <- "a"
	f.wantTexts("a")
	close(texts)
	other, err := h.tokens.Create("other", tokens.Operator, nil)
	must.Do(t, err)
	for ask, code := range map[string]posthouse.Code{"?run=" + run: posthouse.CodeNotFound, "?after=" + run + "/1": posthouse.CodeNotFound, "?after=x": posthouse.CodeInvalid} {
		c := h.mustDial("/agent/dispatch"+ask, nil, "Authorization: Bearer "+other)
		if f := c.want("error"); f.Error.Code != code {
			t.Errorf("%s: f.Error %+v", ask, f.Error)
		}
		c.say("x")
		c.want("reply")
	}
	_, resp, err := h.dial("/agent/dispatch?run=a%0ab", nil, h.bearer(tokens.Operator))
	if err == nil || resp.StatusCode != http.StatusBadRequest {
		t.Errorf("a run that is no name: %v", err)
	}
}

// TestSocketWithoutAnOwnerLearnsNothing names a request before it says its token.
func TestSocketWithoutAnOwnerLearnsNothing(t *testing.T) {
	h := open(t, nil)
	texts := h.telling()
	f, run := h.dispatch("t1")
	texts <- "secret"
	f.wantTexts("secret")
	c := h.mustDial("/agent/dispatch?run="+run, nil)
	c.say(`{"token":"wrong"}`)
	if f := c.want("error"); f.Error.Code != problem.CodeUnauthenticated {
		t.Errorf("f.Error %+v", f.Error)
	}
	c.wantClose(websocket.StatusPolicyViolation)
	close(texts)
}

// TestRunOfAThreadIsTheNewest asks by thread where there were two requests.
func TestRunOfAThreadIsTheNewest(t *testing.T) {
	h := open(t, nil)
	h.program.handle = func(_ context.Context, _ string, o *HandleOptions) (*Reply, error) {
		return &Reply{Thread: o.Thread}, nil
	}
	last := ""
	for range 8 { // whichever order a map has
		f, run := h.dispatch("t1")
		f.want("done")
		last = run
	}
	if got := h.listen(ask{method: "GET", path: "/api/run?run=t1"}).resp.Header.Get(agentcall.RunHeader); got != last {
		t.Errorf("the thread's request is %s, want %s", got, last)
	}
}

// TestEventsAfterTheEnd has an agent leave a goroutine that goes on sending:
// no client receives it, or waits for it. A position that no event had is the
// newest.
func TestEventsAfterTheEnd(t *testing.T) {
	h := open(t, nil)
	var stray *HandleOptions
	goOn := make(chan struct{})
	h.program.handle = func(_ context.Context, _ string, o *HandleOptions) (*Reply, error) {
		stray = o
		<-goOn
		return &Reply{Thread: o.Thread, Text: "done"}, nil
	}
	f, run := h.dispatch("t1")
	ahead := h.listen(ask{method: "GET", path: "/api/run?after=" + run + "/9"})
	close(goOn)
	end := f.want("done")
	f.wantEnd()
	ahead.want("done")
	ahead.wantEnd()
	stray.Text("late")
	stray.Event(AgentEvent{Kind: "late"})
	f = h.listen(ask{method: "GET", path: "/api/run?run=" + run})
	f.want("done")
	f.wantEnd()
	f = h.listen(ask{method: "GET", path: "/api/run?after=" + end.id})
	f.wantEnd()
}

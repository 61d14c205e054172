package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// slowReaders opens streams of events and reads nothing after the headers.
func (h *testServer) slowReaders(n int, as tokens.Role) (all []net.Conn) {
	h.t.Helper()
	for range n {
		conn, err := net.Dial("tcp", h.http.Listener.Addr().String())
		must.Do(h.t, err)
		h.t.Cleanup(func() { _ = conn.Close() })
		must.Do(h.t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
		_, err = io.WriteString(conn, "GET /api/events HTTP/1.1\r\nHost: localhost\r\n"+h.bearer(as)+"\r\n\r\n")
		must.Do(h.t, err)
		resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
		must.Do(h.t, err)
		if resp.StatusCode != http.StatusOK {
			h.t.Fatal(resp.Status)
		}
		all = append(all, conn)
	}
	return all
}

// TestSlowReadersHoldLittle: many streams of a viewer that does not read, and large events.
// The memory of the process stays bounded, and the stream of another token has all events.
func TestSlowReadersHoldLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("20 MB of events for 50 streams take the race detector longer than a reader waits")
	}
	h := open(t, func(o *Options) { o.Limits.Unread = 1 << 20 })
	const readers, events, size = 50, 10, 400 << 10
	good := h.listen(ask{method: "GET", path: "/api/events", as: tokens.Approver})
	h.slowReaders(readers, tokens.Viewer)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	payload := []byte(`"` + strings.Repeat("x", size) + `"`)
	for i := range events {
		h.asking(fmt.Sprint("t", i), posthouse.Gate{Name: "q", Text: "?", Payload: payload, AllowRequest: true})
		good.want("checkpoint")
		good.want("gate")
	}
	held := 0
	// Until the streams that were ended have returned.
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		runtime.GC()
		runtime.ReadMemStats(&after)
		held = int(after.HeapAlloc) - int(before.HeapAlloc)
		if held < 25<<20 {
			break
		}
	}
	// Two of the streams may wait at once, each with an event or two in several forms, and
	// the store has 8 MB of the events.
	if t.Logf("%d streams hold %d MB", readers, held>>20); held > 25<<20 {
		t.Error("that is not bounded")
	}
}

// TestNoTokenHoldsAllCalls: the requests of one token leave room for those of another.
func TestNoTokenHoldsAllCalls(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Concurrency = 4 })
	other, err := h.tokens.Create("other", tokens.Operator, nil)
	must.Do(t, err)
	begun, goOn := h.working()
	defer close(goOn)
	h.server.timeout.Wait = 1
	for range 2 {
		h.post("/api/agents/dispatch", `{"message":"x"}`).want(http.StatusAccepted)
		<-begun
	}
	if p := h.post("/api/agents/dispatch", `{"message":"x"}`).refused(problem.CodeTooMany); !strings.Contains(p.Detail, "operator-token") {
		t.Errorf("over its share a token is told %q", p.Detail)
	}
	h.send(ask{method: "POST", path: "/api/agents/dispatch", as: "-", body: `{"message":"x"}`, header: []string{"Authorization: Bearer " + other}}).want(http.StatusAccepted)
	<-begun
}

// TestAnswersMadeAtOnce: a token waits for its own answers to be made, and no other token does.
// An answer that a client does not read keeps no turn.
func TestAnswersMadeAtOnce(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Reads, o.Limits.TokenReads, o.Limits.Wait = 2, 1, 10*time.Millisecond })
	c := h.saved("t", `"`+strings.Repeat("x", 8<<20-100)+`"`)
	give, err := h.server.router.turns.Take(t.Context(), "viewer-token")
	must.Do(t, err)
	p := h.send(ask{method: "GET", path: "/api/checkpoints/" + string(c.ID), as: tokens.Viewer}).refused(problem.CodeTooMany)
	if !strings.Contains(p.Detail, "viewer-token") {
		t.Error(p.Detail)
	}
	h.get("/api/checkpoints/" + string(c.ID)).want(http.StatusOK)
	h.send(ask{method: "GET", path: "/healthz", as: "-"}).want(http.StatusOK)
	give()
	for range 3 {
		conn, err := net.Dial("tcp", h.http.Listener.Addr().String())
		must.Do(t, err)
		defer conn.Close()
		must.Do(t, conn.(*net.TCPConn).SetReadBuffer(4<<10))
		_, err = io.WriteString(conn, "GET /api/checkpoints/"+string(c.ID)+" HTTP/1.1\r\nHost: localhost\r\n"+h.bearer(tokens.Viewer)+"\r\n\r\n")
		must.Do(t, err)
		resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
		must.Do(t, err)
		if resp.StatusCode != http.StatusOK {
			t.Error(resp.Status)
		}
	}
}

package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// slowly sends a POST with a body that is longer than what is sent of it, and returns the connection.
func (h *testServer) slowly(path, token, media string, length int, sent string) net.Conn {
	h.t.Helper()
	c, err := net.Dial("tcp", h.http.Listener.Addr().String())
	must.Do(h.t, err)
	h.t.Cleanup(func() { _ = c.Close() })
	auth := ""
	if token != "" {
		auth = "Authorization: Bearer " + token + "\r\n"
	}
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", path, h.http.Listener.Addr(), auth, media, length, sent)
	must.Do(h.t, err)
	return c
}

// status reads the answer of a connection.
func status(t *testing.T, c net.Conn) int {
	t.Helper()
	must.Do(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("no answer came: %v", err)
	}
	_, _ = io.Copy(io.Discard, a.Body)
	return a.StatusCode
}

const formMedia = "application/x-www-form-urlencoded"

// TestLoginFormIsSmall: what anybody may send is 8 KiB.
func TestLoginFormIsSmall(t *testing.T) {
	h := open(t, nil)
	post := func(body string) *reply {
		return h.send(ask{method: "POST", path: "/login", as: "-", body: body, header: []string{"Content-Type: " + formMedia}})
	}
	post("token=" + strings.Repeat("x", 9<<10)).want(http.StatusRequestEntityTooLarge)
	post("token=" + h.secrets[tokens.Viewer] + "&next=/" + strings.Repeat("x", 4<<10)).want(http.StatusSeeOther)
}

// TestAnonymousBodiesAreBounded: login forms that stay open hold no more than their bound together, the one
// that is read for longest is given up, and a person logs in meanwhile.
func TestAnonymousBodiesAreBounded(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.Anonymous = 64 << 10 })
	part := "token=" + strings.Repeat("x", 4<<10)
	answers := make(chan int)
	for range 40 {
		c := h.slowly("/login", "", formMedia, 8000, part)
		go func() {
			a, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return // closed at the end of the test
			}
			answers <- a.StatusCode
		}()
	}
	for range 25 { // of 40, at most 15 stay
		if s := <-answers; s != http.StatusTooManyRequests {
			t.Errorf("a form that was given up got %d, want 429", s)
		}
	}
	h.send(ask{method: "POST", path: "/login", as: "-", body: "token=" + h.secrets[tokens.Viewer], header: []string{"Content-Type: " + formMedia}}).want(http.StatusSeeOther)
}

// TestBodiesOfATokenAreBounded: a token's bodies wait for room, by their declared lengths, and hold up no
// other token.
func TestBodiesOfATokenAreBounded(t *testing.T) {
	h := open(t, func(o *Options) { o.Limits.TokenBodies, o.Limits.Wait = 1000, 50*time.Millisecond })
	const second = tokens.Role("second")
	secret, err := h.tokens.Create("second", tokens.Operator, nil)
	must.Do(t, err)
	h.secrets[second] = secret
	const path = "/api/agents/dispatch"
	c := h.slowly(path, secret, "application/json\r\nExpect: 100-continue", 900, "")
	if s := status(t, c); s != http.StatusContinue { // it has its room, and is being read
		t.Fatalf("the first body: %d", s)
	}
	body := `{"message":"` + strings.Repeat("y", 800) + `"}`
	h.send(ask{method: "POST", path: path, as: second, body: body}).want(http.StatusTooManyRequests)
	h.send(ask{method: "POST", path: path, as: second, body: `{"message":"y"}`}).want(http.StatusOK)
	h.send(ask{method: "POST", path: path, body: body}).want(http.StatusOK)
	must.Do(t, c.Close())
	for range 100 { // the server notices that the client is gone
		if h.send(ask{method: "POST", path: path, as: second, body: body}).status == http.StatusOK {
			return
		}
	}
	t.Error("the room of a body whose client is gone is not free again")
}

// TestProxySaysWhereARequestCameFrom: the record and the log have the client's address, and only of a trusted
// proxy; what the client wrote itself counts for nothing.
func TestProxySaysWhereARequestCameFrom(t *testing.T) {
	for trust, want := range map[string]string{"127.0.0.1/32": "192.0.2.7:0", "10.0.0.0/8": "127.0.0.1:"} {
		h := open(t, func(o *Options) { o.TrustProxy = []netip.Prefix{netip.MustParsePrefix(trust)} })
		h.send(ask{method: "GET", path: "/api/me", as: "-", header: []string{"Authorization: Bearer nothing", "X-Forwarded-For: 203.0.113.9, 192.0.2.7"}}).refused(problem.CodeUnauthenticated)
		if log := h.log.String(); !strings.Contains(log, `"from":"`+want) {
			t.Errorf("with %s trusted the log says %s, want from %s", trust, log, want)
		}
	}
}

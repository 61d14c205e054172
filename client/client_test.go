package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

func testClient(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c, err := New(srv.URL, &Options{Token: "secret", Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDo(t *testing.T) {
	c := testClient(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("Authorization %q", got)
		}
		if r.URL.EscapedPath() != "/api/a%2Fb" || r.URL.Query().Get("by") != "alice smith" {
			t.Errorf("asked for %s", r.URL)
		}
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"got":%s}`, body)
	})
	var out struct{ Got map[string]string }
	err := c.Do(t.Context(), "POST", Path("api", "a/b"), map[string][]string{"by": {"alice smith"}}, map[string]string{"x": "y"}, &out)
	if err != nil || out.Got["x"] != "y" {
		t.Errorf("output %v, error %v", out, err)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   error
		text   string
	}{
		{409, `{"title":"decided","code":"decided","message":"the gate has its decision","decision":{"gate":"g","verdict":"approve","by":"bob"}}`, posthouse.ErrDecided, "the gate has its decision"},
		{404, `{"title":"Not Found","detail":"there is no checkpoint \"x\""}`, posthouse.ErrNotFound, `there is no checkpoint "x"`},
		{401, `{"title":"Unauthorized","detail":"a token is needed"}`, posthouse.ErrForbidden, "is needed"},
		{502, `<html>bad gateway`, posthouse.ErrUnavailable, "is it a posthouse server?"},
		{302, ``, posthouse.ErrInvalid, "302"},
	} {
		cl := testClient(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		err := cl.Do(t.Context(), "GET", "/", nil, nil, nil)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("c.status %d, c.body %s, error %v", c.status, c.body, err)
		}
		var e *posthouse.Error
		if c.status == 409 && (!errors.As(err, &e) || e.Decision == nil || e.Decision.By != "bob") {
			t.Errorf("the first decision was lost: %#v", err)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	base := "http://" + l.Addr().String()
	l.Close()
	c, err := New(base, &Options{Token: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Do(t.Context(), "GET", "/", nil, nil, nil)
	if err == nil || !strings.Contains(err.Error(), "is it running") || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

func TestTokenStaysHere(t *testing.T) {
	for _, bad := range []string{"http://example.com", "ftp://localhost", "localhost:8095", "http://u:p@localhost", ""} {
		if _, err := New(bad, &Options{Token: "secret"}); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"https://example.com", "http://localhost:1", "http://[::1]:8095/"} {
		if _, err := New(good, &Options{Token: "secret"}); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}

func TestStream(t *testing.T) {
	c := testClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": hello\n\nid: 1\nevent: text\ndata: {\"a\":\ndata: 1}\n\ndata:two\r\n\r\ndata: cut off")
	})
	var got []string
	for ev, err := range c.Stream(t.Context(), "POST", "/", nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev.Name+" "+ev.ID+" "+string(ev.Data))
	}
	want := []string{"text 1 {\"a\":\n1}", "message 1 two"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	plain := testClient(t, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode("no") })
	for _, err := range plain.Stream(t.Context(), "POST", "/", nil, nil) {
		if !errors.Is(err, posthouse.ErrUnsupported) {
			t.Errorf("%v", err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add("id: 1\nevent: x\ndata: a\ndata: b\n\n: c\n\n")
	f.Add("data\n\n0")
	f.Add("id: 1\n\nid: 1\n\n")
	f.Fuzz(func(t *testing.T, s string) {
		last := ""
		for m, err := range messages(strings.NewReader(s)) {
			if err != nil {
				return
			}
			if m == nil || m.Data == nil && m.ID == last {
				t.Errorf("%q gave a message without data and without news", s)
			}
			last = m.ID
		}
	})
}

// TestAddressesOfNames checks that a name stays one segment, and that one which
// cannot be a segment goes into a parameter.
func TestAddressesOfNames(t *testing.T) {
	for got, want := range map[string]string{
		ThreadPath("order-7", "log"):             "/api/threads/order-7/log",
		ThreadPath("user@example.com"):           "/api/threads/user@example.com",
		ThreadPath("tenant/42", "releases", "1"): "/api/threads/tenant%2F42/releases/1",
		ThreadPath("日本"):                         "/api/threads/%E6%97%A5%E6%9C%AC",
		ThreadPath("order#7?a%"):                 "/api/threads/order%237%3Fa%25",
		ThreadPath(".."):                         "/api/threads/-?thread=..",
		ThreadPath(".", "log"):                   "/api/threads/-/log?thread=.",
		ThreadPath("..", "signals", ".."):        "/api/threads/-/signals/-?signal=..&thread=..",
		ThreadPath("...", "signals", "a/b"):      "/api/threads/.../signals/a%2Fb",
		AgentPath("a/b"):                         "/api/agents/a%2Fb",
		AgentPath(".."):                          "/api/agents/-?agent=..",
	} {
		if got != want {
			t.Errorf("the address is %s, want %s", got, want)
		}
	}
}

package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestRetries sends again what broke on the way, with the same key and body, and only what a server takes
// once. It gives up after some attempts, and where the server wants too long a wait.
func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name, method, path string
		answer             func(w http.ResponseWriter, n int)
		sent               int
		fails              error
	}{
		{"a GET", "GET", "/api/gates", breaks(2), 3, nil},
		{"a POST", "POST", "/api/gates/g/approve", breaks(2), 3, nil},
		{"a DELETE", "DELETE", "/api/threads/t", breaks(1), 1, posthouse.ErrClosed},
		{"a call of a worker", "POST", "/api/worker/claim", breaks(1), 1, posthouse.ErrClosed},
		{"too much at once", "POST", "/api/gates/g/approve", refuses(1, 429, "0"), 2, nil},
		{"the first is worked on", "POST", "/api/gates/g/approve", refuses(1, 409, "1"), 2, nil},
		{"a conflict", "POST", "/api/gates/g/approve", refuses(1, 409, ""), 1, posthouse.ErrConflict},
		{"a server that starts", "GET", "/api/gates", refuses(1, 503, "1"), 2, nil},
		{"a long wait", "GET", "/api/gates", refuses(1, 503, "3600"), 1, posthouse.ErrUnavailable},
		{"no end", "GET", "/api/gates", breaks(99), 3, posthouse.ErrClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var keys, bodies []string
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				keys, bodies = append(keys, r.Header.Get(KeyHeader)), append(bodies, string(body))
				n := len(keys)
				mu.Unlock()
				c.answer(w, n)
			}))
			defer web.Close()
			cl, err := New(web.URL, &Options{Retries: 2})
			if err != nil {
				t.Fatal(err)
			}
			defer cl.Close()
			err = cl.Do(t.Context(), c.method, c.path, nil, map[string]string{"reason": "yes"}, nil)
			mu.Lock()
			defer mu.Unlock()
			if c.fails == nil && err != nil || c.fails != nil && !errors.Is(err, c.fails) || len(keys) != c.sent {
				t.Errorf("it is sent %d times: %v; want %d times, %v", len(keys), err, c.sent, c.fails)
			}
			for i, k := range keys {
				if keyed := c.method == "POST" && !strings.Contains(c.path, "worker"); keyed != (k != "") || k != keys[0] || bodies[i] != bodies[0] {
					t.Errorf("the attempt %d has the key %q and the body %s", i, k, bodies[i])
				}
			}
		})
	}
}

// breaks ends the connection of the first n requests without an answer.
func breaks(n int) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, i int) {
		if i <= n {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
			return
		}
		fmt.Fprint(w, "{}")
	}
}

// refuses answers the first n requests with a status.
func refuses(n, status int, after string) func(http.ResponseWriter, int) {
	return func(w http.ResponseWriter, i int) {
		if i <= n {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(status)
			return
		}
		fmt.Fprint(w, "{}")
	}
}

// TestAnswersAreBounded: an answer without an end is given up, and so is one that is not JSON.
func TestAnswersAreBounded(t *testing.T) {
	endless := testClient(t, func(w http.ResponseWriter, _ *http.Request) {
		for piece := bytes.Repeat([]byte(" "), 1<<20); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	if err := endless.Do(t.Context(), "GET", "/", nil, nil, new(any)); !errors.Is(err, posthouse.ErrTooLarge) {
		t.Errorf("an answer without an end is %v", err)
	}
	html := testClient(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	if err := html.Do(t.Context(), "GET", "/", nil, nil, new(any)); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("HTML is %v", err)
	}
}

// TestFieldsOfProblems keeps the field apart from what is wrong with it.
func TestFieldsOfProblems(t *testing.T) {
	c := testClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		fmt.Fprint(w, `{"title":"Bad Request","code":"invalid","field":"limit","detail":"limit must be a number","hint":"give one"}`)
	})
	e := new(posthouse.Error)
	if err := c.Do(t.Context(), "GET", "/", nil, nil, nil); !errors.As(err, &e) || e.Field != "limit" || e.Message != "must be a number" || e.Hint != "give one" {
		t.Errorf("the error is %#v", e)
	}
}

// FuzzRestore gives answers with values to the reader.
func FuzzRestore(f *testing.F) {
	f.Add(`{"id":"g","payload":"{\"account\":9007199254740993}","binding":[{"name":"a","value":"1"}]}`)
	f.Add(`{"payload":1}`)
	f.Fuzz(func(t *testing.T, s string) {
		g := new(Gate)
		if err := decode([]byte(s), g); err == nil && !strings.Contains(s, "ayload") && g.Payload != nil {
			t.Errorf("%q has the payload %q", s, g.Payload)
		}
	})
}

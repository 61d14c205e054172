package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// oddNames are names that a path, a header or a query would lose.
var oddNames = []string{
	"user@example.com", "tenant/42", "tenant", "42", "../up", "a/../b", "order#7", "a?b=c&d", "日本", "Zoë", "Zoe\u0308", "50%", "%2F", "a%2Fb", "a/b", "a\\b", " a ", "a b", "a+b", ".", "..", "...", "-", "--",
	"'\"<b>", "a;b", "a:b", "\u202eevil", "log", "t/log", strings.Repeat("é", 100),
}

// threadURL is how a client writes a thread's address.
func threadURL(name string) string {
	if name == "." || name == ".." {
		return "/api/threads/-?thread=" + name
	}
	return "/api/threads/" + url.PathEscape(name)
}

// below appends a segment to the name.
func below(name, segment string) string {
	path, query, ok := strings.Cut(threadURL(name), "?")
	if path += "/" + segment; ok {
		path += "?" + query
	}
	return path
}

// TestThreadsOfAnyName reaches each thread, and it alone, by its address, by the
// parameter, in lists, filters and pages.
func TestThreadsOfAnyName(t *testing.T) {
	h := open(t, nil)
	for _, name := range oddNames {
		c := posthouse.Root(name, posthouse.State{posthouse.OpaquePart: {Codec: "json", Data: []byte("1")}})
		c.Thread, c.Agent, c.Labels = name, name, map[string]string{name: "v=1"}
		if _, err := h.ledger.Save(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range oddNames {
		q := url.QueryEscape(name)
		for _, path := range []string{threadURL(name), "/api/threads/-?thread=" + q} {
			var info posthouse.ThreadInfo
			if h.get(path).want(http.StatusOK).into(&info); info.Thread != name {
				t.Errorf("%s answers thread %q", path, info.Thread)
			}
		}
		for _, filter := range []string{"thread=" + q, "coordination=" + q, "agent=" + q, "label=" + q + "&labelValue=" + "v%3D1"} {
			var cs []Checkpoint
			if h.get("/api/checkpoints?" + filter).want(http.StatusOK).into(&cs); len(cs) != 1 || cs[0].Thread != name {
				t.Errorf("%s answers %d checkpoints, want that of %q", filter, len(cs), name)
			}
		}
		var log []LogEntry
		if h.get(below(name, "log")).want(http.StatusOK).into(&log); len(log) != 1 {
			t.Errorf("%q has %d entries", name, len(log))
		}
		h.post(below(name, "hold"), `{}`).want(http.StatusOK)
		h.send(ask{method: "DELETE", path: below(name, "hold")}).want(http.StatusNoContent)
		h.post(below(name, "signals/"+url.PathEscape("go/on #1")), `1`).want(http.StatusOK)
	}
	h.post("/api/threads/-/signals/-?thread=..&signal=..", `1`).want(http.StatusOK)
	var names []string
	for path := "/api/threads?limit=7&order=asc"; path != ""; {
		var ts []posthouse.ThreadInfo
		a := h.get(path).want(http.StatusOK)
		a.into(&ts)
		for _, x := range ts {
			names = append(names, x.Thread)
		}
		next := a.header.Get("X-Next-Cursor")
		for _, c := range next {
			if c <= ' ' || c > '~' {
				t.Fatalf("the cursor %q cannot be in a header", next)
			}
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(a.header.Get("Link"), "<"), ">")
		if want := (url.Values{"limit": {"7"}, "order": {"asc"}, "cursor": {next}}).Encode(); next != "" && path != "/api/threads?"+want {
			t.Fatalf("the next page is %q behind %q", path, next)
		}
	}
	if want := slices.Sorted(slices.Values(oddNames)); !slices.Equal(names, want) {
		t.Errorf("pages list %q, want %q", names, want)
	}
	h.send(ask{method: "DELETE", path: threadURL("tenant/42")}).want(http.StatusOK)
	h.send(ask{method: "DELETE", path: "/api/coordinations/-?coordination=.."}).want(http.StatusOK)
	h.get(threadURL("tenant/42")).refused(posthouse.CodeNotFound)
	h.get(threadURL("..")).refused(posthouse.CodeNotFound)
	h.get(threadURL("tenant")).want(http.StatusOK)
	h.get(threadURL("-")).want(http.StatusOK)
}

// TestNamesBesideThePath refuses what could be taken for another thread.
func TestNamesBesideThePath(t *testing.T) {
	h := open(t, nil)
	h.saved("-", "1")
	h.saved("t", "1")
	for _, path := range []string{"/api/threads/t?thread=u", "/api/threads/t?thread=t", "/api/threads/-?thread=", "/api/threads/-?thread=a%0ab", "/api/threads/-?thread=a&thread=b", "/api/threads/" + strings.Repeat("x", 201), "/api/checkpoints?branch=%ff"} {
		h.get(path).refused(posthouse.CodeInvalid)
		if strings.HasPrefix(path, "/api/threads/") {
			h.send(ask{method: "DELETE", path: path}).refused(posthouse.CodeInvalid)
		}
	}
	h.get("/api/threads/-").want(http.StatusOK)
}

package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestFollowerGoesOn: a server that ends its answer is asked again from the last event on, one that is
// away is waited for, and one that refuses is not.
func TestFollowerGoesOn(t *testing.T) {
	asked := []string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("thread")+" after "+r.URL.Query().Get("after"))
		switch len(asked) {
		case 1, 3:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, ": hello\n\nevent: gate\nid: c%d\ndata: {}\n\nevent: chunk\ndata: {}\n\nevent: gate\nid: lost\n", len(asked))
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer s.Close()
	c, err := New(s.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	away := 0
	f := &Follower{Client: c, Query: map[string][]string{"thread": {"t"}}, After: "now", Away: func() { away++ }}
	if err := f.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for ev, err := range f.Events(t.Context()) {
		if err != nil {
			got = append(got, fmt.Sprint(errors.Is(err, posthouse.ErrForbidden)))
			break
		}
		got = append(got, ev.Name+" "+ev.ID)
	}
	if want := []string{"gate c1", "chunk c1", "gate c3", "chunk c3", "true"}; !slices.Equal(got, want) {
		t.Errorf("it follows %q, want %q", got, want)
	}
	if want := []string{"t after now", "t after c1", "t after c1", "t after c3"}; !slices.Equal(asked, want) || away != 2 {
		t.Errorf("it asks %q, away %d times, want %q, 2 times", asked, away, want)
	}
	c.HTTP.CloseIdleConnections()
}

// TestFollowerEnds with its context, and does not begin with what does not stream.
func TestFollowerEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") == "" {
			fmt.Fprint(w, "{}")
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: gate\nid: 1\ndata: {}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	c, err := New(s.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	f := &Follower{Client: c}
	if err := f.Begin(ctx); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("what does not stream is %v", err)
	}
	f.After = "start"
	n := 0
	for _, err := range f.Events(ctx) {
		n++
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled, it says %v", err)
			}
			break
		}
		cancel()
	}
	if n != 2 {
		t.Errorf("it yields %d times", n)
	}
	c.HTTP.CloseIdleConnections()
}

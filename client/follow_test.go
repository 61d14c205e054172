package client

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
			fmt.Fprintf(w, "id: @1\n\n: hello\n\nevent: gate\nid: c%d\ndata: {\"kind\":\"gate\",\"cursor\":\"c%d\"}\n\nevent: custom\ndata: {\"kind\":\"custom\",\"custom\":{\"value\":\"1.50\"}}\n\nevent: gate\nid: lost\n", len(asked), len(asked))
		case 4: // a stream that ends before its first event says from where on it followed
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: @2\n\n")
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer s.Close()
	c, err := New(s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	away := 0
	f, err := c.Follow(t.Context(), &EventQuery{Thread: "t", After: "now", Away: func() { away++ }})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for ev, err := range f.Events(t.Context()) {
		if err != nil {
			got = append(got, fmt.Sprint(errors.Is(err, posthouse.ErrForbidden)))
			break
		}
		got = append(got, ev.Kind+" "+ev.Cursor)
		if ev.Custom != nil && string(ev.Custom.Value) != "1.50" {
			t.Errorf("the value is %s", ev.Custom.Value)
		}
	}
	if want := []string{"gate c1", "custom ", "gate c3", "custom ", "true"}; !slices.Equal(got, want) {
		t.Errorf("it follows %q, want %q", got, want)
	}
	if want := []string{"t after now", "t after c1", "t after c1", "t after c3", "t after @2"}; !slices.Equal(asked, want) || away != 3 {
		t.Errorf("it asks %q, away %d times, want %q, 3 times", asked, away, want)
	}
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
		fmt.Fprint(w, "event: gate\nid: 1\ndata: {\"kind\":\"gate\"}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	c, err := New(s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Follow(ctx, nil); !errors.Is(err, posthouse.ErrUnsupported) {
		t.Errorf("what does not stream is %v", err)
	}
	f, err := c.Follow(ctx, &EventQuery{After: "start"})
	if err != nil {
		t.Fatal(err)
	}
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
}

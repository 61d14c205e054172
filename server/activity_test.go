package server

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestThreadsByActivity: threads are listed by the instant of their last entry within a
// page, and pages show each thread that rests once while others are active.
func TestThreadsByActivity(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h := open(t, nil)
	var err error
	h.ledger, err = ledger.Open(h.store, &ledger.Options{Now: func() time.Time { return now }})
	must.Do(t, err)
	for i := range 12 {
		now = now.Add(23 * time.Second)
		h.saved(fmt.Sprintf("t%02d", i*5%12), "1")
	}
	now = now.Add(time.Second) // in the minute of those before
	h.saved("t03", "2")
	type page struct {
		names []string
		next  string
	}
	list := func(query string) (p page) {
		t.Helper()
		var ts []Thread
		a := h.get("/api/threads?" + query).want(200)
		a.into(&ts)
		for i, x := range ts {
			if i > 0 && x.UpdatedAt.After(ts[i-1].UpdatedAt) {
				t.Errorf("%s: %s was active after %s, which comes before it", query, x.Thread, ts[i-1].Thread)
			}
			p.names = append(p.names, x.Thread)
		}
		p.next = a.header.Get("X-Next-Cursor")
		return p
	}
	all := list("")
	if len(all.names) != 12 || all.names[0] != "t03" || all.names[11] != "t00" || all.next != "" {
		t.Errorf("threads are listed as %v, then %q", all.names, all.next)
	}
	seen := map[string]int{}
	for cursor, turns := "", 0; ; turns++ {
		p := list("limit=3&cursor=" + url.QueryEscape(cursor))
		for _, name := range p.names {
			seen[name]++
		}
		cursor = p.next
		if cursor == "" {
			break
		}
		if turns > 12 {
			t.Fatal("the pages have no end")
		}
		now = now.Add(40 * time.Second)
		h.saved("t00", fmt.Sprint(turns))
	}
	for _, name := range all.names {
		if seen[name] != 1 && name != "t00" {
			t.Errorf("%s, which rests, was shown %d times", name, seen[name])
		}
	}
	if again := list("limit=1"); !slices.Equal(again.names, []string{"t00"}) {
		t.Errorf("the next list begins with %v", again.names)
	}
}

package server

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// TestEventsBeyondCursors follows a store that is polled and has more threads
// than a cursor can name: whoever connects again goes on from now and is told
// so, by header, parameter or session. One thread is followed without a gap.
func TestEventsBeyondCursors(t *testing.T) {
	h := open(t, func(o *Options) {
		l, err := posthouse.Open(struct{ posthouse.Store }{o.Ledger.Store()}, &posthouse.Options{Poll: time.Millisecond})
		check(t, err)
		o.Ledger = l
	})
	for i := range maxCursor / 15 {
		h.saved(fmt.Sprint("t", i), "0")
	}
	session := sessionHeader + ": " + h.session(Operator, "").Token
	f := h.listen(ask{method: "GET", path: "/api/events", header: []string{session}})
	f.want("session")
	h.saved("t7", "1")
	e := f.want("checkpoint")
	var ev posthouse.Event
	check(t, json.Unmarshal([]byte(e.data), &ev))
	if e.id != "now" || ev.Cursor != e.id {
		t.Errorf("to go on there are the cursors %.20s and %.20s, want now", e.id, ev.Cursor)
	}
	f.close()
	h.server.running.Wait() // the stream has noted where it was
	h.saved("t7", "2")      // nobody sees it

	for name, a := range map[string]ask{
		"header":  {method: "GET", path: "/api/events?after=start", header: []string{"Last-Event-ID: " + e.id}},
		"session": {method: "GET", path: "/api/events", header: []string{session}},
	} {
		f = h.listen(a)
		if name == "session" {
			f.want("session")
		}
		f.want("gap")
		h.saved("t7", `"`+name+`"`)
		if e := f.want("checkpoint"); e.id != "now" {
			t.Errorf("%s: it goes on with %.20s", name, e.id)
		}
		f.close()
	}

	f = h.listen(ask{method: "GET", path: "/api/events?thread=t8"})
	h.saved("t8", "1")
	seen := f.want("checkpoint")
	f.close()
	last := h.saved("t8", "2")
	f = h.listen(ask{method: "GET", path: "/api/events?thread=t8", header: []string{"Last-Event-ID: " + seen.id}})
	check(t, json.Unmarshal([]byte(f.want("checkpoint").data), &ev))
	if ev.Checkpoint.ID != last.ID {
		t.Errorf("behind %s there is %+v", seen.id, ev)
	}
}

package server

import (
	"encoding/json"
	"strconv"
	"sync"
)

// A frame is one item of what a call tells its client: an event of a stream, or
// a message of a WebSocket. Nobody changes it once it was told.
type frame struct {
	kind string // "text", "event", "reply" or "error"; "session" and "gap" are of one client
	data any
	n    uint64 // its number in the feed, from 1; 0: it is in none
}

// last reports whether nothing follows the frame.
func (f *frame) last() bool { return f.kind == "reply" || f.kind == "error" }

// size estimates how many bytes the frame holds on to.
func (f *frame) size() int {
	switch x := f.data.(type) {
	case textFrame:
		return len(x.Text)
	case json.RawMessage:
		return len(x)
	case *Reply:
		return len(x.Text)
	}
	return 0
}

type textFrame struct {
	Text string `json:"text"`
}

// A gapFrame says that a client missed frames that are not kept any more.
type gapFrame struct {
	Missed uint64 `json:"missed"`
}

// What is kept of a feed, for clients that are behind or come back: at most so
// many frames, and so many bytes but for the newest frame.
const (
	feedLength = 1024
	feedSize   = 256 << 10
)

// A feed is what one call tells, to whoever listens. A client that cannot keep
// up, or went away, never holds up the work.
type feed struct {
	run string // the call's id

	mu     sync.Mutex
	frames []frame
	size   int
	told   uint64        // the newest frame's number
	more   chan struct{} // closed with the next frame; nil: nobody waits for it
}

// send hands a frame on without waiting. What comes behind the last one, from a
// goroutine that an agent left behind, nobody hears.
func (f *feed) send(kind string, data any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended() {
		return
	}
	f.told++
	x := frame{kind, data, f.told}
	f.frames, f.size = append(f.frames, x), f.size+x.size()
	for len(f.frames) > feedLength || f.size > feedSize && len(f.frames) > 1 {
		f.size -= f.frames[0].size()
		f.frames[0] = frame{}
		f.frames = f.frames[1:]
	}
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// event hands on what happened, encoded now: it may change later.
func (f *feed) event(e any) error {
	body, err := json.Marshal(e)
	if err == nil {
		f.send("event", json.RawMessage(body))
	}
	return err
}

// behind returns copies of the frames behind the n-th, how many of them are not
// kept any more, and, if there are none yet, a channel that is closed when there
// are.
func (f *feed) behind(n uint64) (frames []frame, missed uint64, more <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told <= n {
		if f.more == nil {
			f.more = make(chan struct{})
		}
		return nil, 0, f.more
	}
	first := f.told - uint64(len(f.frames)) + 1
	if n+1 < first {
		n, missed = first-1, first-1-n
	}
	return append([]frame(nil), f.frames[n+1-first:]...), missed, nil
}

// over reports whether a client that has the n-th frame has the last.
func (f *feed) over(n uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return n >= f.told && f.ended()
}

// ended reports whether the last frame was told. Callers hold f.mu.
func (f *feed) ended() bool { return len(f.frames) > 0 && f.frames[len(f.frames)-1].last() }

// id names a frame, for a client to say where it was.
func (f *feed) id(n uint64) string { return f.run + "/" + strconv.FormatUint(n, 10) }

// A listener is one client's place in a feed.
type listener struct {
	feed *feed
	at   uint64        // the last frame it has
	gone chan struct{} // closed once it does not listen any more
}

// listen takes a place behind the n-th frame, or behind the newest.
func (f *feed) listen(n uint64) *listener {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &listener{f, min(n, f.told), make(chan struct{})}
}

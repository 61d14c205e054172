package feed

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"
)

// A Frame is one event of a stream, or one message of a WebSocket. It must not be
// changed once it was sent.
type Frame struct {
	Kind string // "text", "event", "reply" or "error"; "session" and "gap" are of one client
	Data any
	N    uint64 // its number in the feed, from 1; 0: it is in no feed
	size int    // how many bytes it holds on to, about
}

// last reports whether nothing follows the frame.
func (f *Frame) last() bool { return f.Kind == "reply" || f.Kind == "error" }

// A Text is the data of a frame of text.
type Text struct {
	Text string `json:"text"`
}

// A Gap says that a client missed frames that are not kept any more.
type Gap struct {
	Missed uint64 `json:"missed"`
}

// Bounds of what is kept of a feed, for clients that are late or return. The newest frame
// is kept at any size.
const (
	Length  = 1024
	maxSize = 256 << 10
)

// A Feed is what one call sends to its listeners. A client that cannot keep up,
// or left, never holds up the work.
type Feed struct {
	Run string // the call's id

	mu     sync.Mutex
	frames []Frame
	size   int
	told   uint64        // the newest frame's number
	more   chan struct{} // closed with the next frame; nil: no listener waits for it
}

// New makes the feed of a call by its id.
func New(run string) *Feed { return &Feed{Run: run} }

// Text sends a piece of text.
func (f *Feed) Text(text string) { f.Send("text", Text{text}, len(text)) }

// Send adds a frame of about so many bytes, without waiting. Frames after the last
// one are dropped: a goroutine that an agent left running may send some.
func (f *Feed) Send(kind string, data any, size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended() {
		return
	}
	f.told++
	x := Frame{kind, data, f.told, size}
	f.frames, f.size = append(f.frames, x), f.size+size
	for len(f.frames) > Length || f.size > maxSize && len(f.frames) > 1 {
		f.size -= f.frames[0].size
		f.frames[0] = Frame{}
		f.frames = f.frames[1:]
	}
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// Event sends what happened. It is encoded at once, since it may change later.
func (f *Feed) Event(e any) error {
	body, err := json.Marshal(e)
	if err == nil {
		f.Send("event", json.RawMessage(body), len(body))
	}
	return err
}

// after returns copies of the frames after the n-th and how many of them were
// dropped. Without such frames it returns more, which is closed with the next one.
func (f *Feed) after(n uint64) (frames []Frame, missed uint64, more <-chan struct{}) {
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
	return append([]Frame(nil), f.frames[n+1-first:]...), missed, nil
}

// over reports whether a client that has the n-th frame has the last.
func (f *Feed) over(n uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return n >= f.told && f.ended()
}

// ended reports whether the last frame was sent. Callers hold f.mu.
func (f *Feed) ended() bool { return len(f.frames) > 0 && f.frames[len(f.frames)-1].last() }

// ID returns the id of a frame, by which a client goes on after it.
func (f *Feed) ID(n uint64) string { return f.Run + "/" + strconv.FormatUint(n, 10) }

// A Listener is one client's place in a feed.
type Listener struct {
	Feed *Feed
	at   uint64        // the last frame it has
	Gone chan struct{} // closed once it does not listen any more
}

// Listen returns a listener to the frames after the n-th, or after the newest.
func (f *Feed) Listen(n uint64) *Listener {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Listener{f, min(n, f.told), make(chan struct{})}
}

// Pump writes frames to a client until the last one, with a heartbeat at each tick.
// It returns whether the client is still there. It is called once.
func (l *Listener) Pump(ctx context.Context, tick <-chan time.Time, write func(Frame) error, heartbeat func() error) bool {
	defer close(l.Gone)
	for !l.Feed.over(l.at) {
		frames, missed, more := l.Feed.after(l.at)
		if missed > 0 && write(Frame{Kind: "gap", Data: Gap{missed}}) != nil {
			return false
		}
		for _, x := range frames {
			if ctx.Err() != nil || write(x) != nil {
				return false
			}
			l.at = x.N
		}
		if len(frames) > 0 {
			continue
		}
		select {
		case <-more:
		case <-tick:
			if heartbeat() != nil {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
	return true
}

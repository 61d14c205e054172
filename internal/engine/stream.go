package engine

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
)

// A StreamMode is something to read along while a program runs.
type StreamMode string

// The modes.
const (
	StreamValues      StreamMode = "values"
	StreamUpdates     StreamMode = "updates"
	StreamMessages    StreamMode = "messages"
	StreamCustom      StreamMode = "custom"
	StreamCheckpoints StreamMode = "checkpoints"
	StreamTasks       StreamMode = "tasks"
	StreamDebug       StreamMode = "debug"
)

var streamModes = []StreamMode{
	StreamValues, StreamUpdates, StreamMessages, StreamCustom, StreamCheckpoints, StreamTasks, StreamDebug,
}

// CheckModes refuses a mode that there is not. [posthouse.ErrInvalid].
func CheckModes(modes []StreamMode) error {
	for _, m := range modes {
		if !slices.Contains(streamModes, m) {
			return posthouse.Invalid("Modes", "has %q, which is not a stream mode", string(m))
		}
	}
	return nil
}

// An EventKind says what an event reports.
type EventKind string

// The kinds of event.
const (
	EventInput EventKind = "input"
	EventNode  EventKind = "node"
	EventPark  EventKind = "park"
	EventEnd   EventKind = "end"

	EventUpdate     EventKind = "update"
	EventMessage    EventKind = "message"
	EventCustom     EventKind = "custom"
	EventCheckpoint EventKind = "checkpoint"

	EventTaskStart  EventKind = "task.start"
	EventTaskFinish EventKind = "task.finish"
	EventTaskWait   EventKind = "task.wait"
	EventTaskRetry  EventKind = "task.retry"
	EventTaskError  EventKind = "task.error"
	EventTaskStop   EventKind = "task.stop"
)

// A Notice is an event on its way to the reader of a stream, who gets it as an
// event of the model's own type. Its fields mean what they mean there.
type Notice struct {
	Kind EventKind
	Mode StreamMode
	Path string
	Node string

	Checkpoint posthouse.Header
	State      any
	Result     any

	Task    string
	Attempt int
	Updates map[string]posthouse.Value
	Text    string
	Value   any
	Step    string
	Seq     uint64
	Err     error
	Due     time.Time
	At      time.Time
	Took    time.Duration

	heard chan struct{} // closed when the reader is done with it; nil: nobody waits for that
}

// chunks is how many pieces of text and values may be on their way to a reader
// before those who emit them wait.
const chunks = 64

// A Hub brings what a run tells, from all its goroutines, to the one reader of
// its stream. A nil Hub has no reader.
type Hub struct {
	modes []StreamMode
	items chan Notice
	left  chan struct{} // closed once the reader has left
	ended chan struct{} // closed once the run has ended
	stop  func()        // ends the run's context
}

// stream runs do in a goroutine of its own, once for each time it is iterated,
// and yields what that tells its hub, as event makes it; by default what
// [StreamValues] chooses. An error of do is the last element. A reader that
// leaves ends do's context and waits for it.
func stream[E any](ctx context.Context, modes []StreamMode, do func(context.Context, *Hub) error, event func(*Notice) E) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		h := newHub(modes, func() { cancel(errLeft) })
		var err error
		go func() {
			defer close(h.ended)
			err = do(ctx, h)
		}()
		defer func() { // also if the reader panics
			cancel(errLeft)
			<-h.ended
		}()
		left := false
		h.read(func(n Notice) bool {
			left = !yield(event(&n), nil)
			return !left
		})
		if !left && err != nil { // in this order: err is the goroutine's while it runs
			var none E
			yield(none, err)
		}
	}
}

// errLeft ends a run whose reader has left. No reader sees it.
var errLeft = errors.New("engine: the reader has left")

func newHub(modes []StreamMode, stop func()) *Hub {
	if len(modes) == 0 {
		modes = []StreamMode{StreamValues}
	}
	return &Hub{modes: modes, items: make(chan Notice, chunks), left: make(chan struct{}), ended: make(chan struct{}), stop: stop}
}

// Wants returns the first chosen mode that yields what these modes do, "" for
// none.
func (h *Hub) Wants(any ...StreamMode) StreamMode {
	if h == nil {
		return ""
	}
	for _, m := range h.modes {
		if slices.Contains(any, m) {
			return m
		}
	}
	return ""
}

// Gone reports whether the reader has left.
func (h *Hub) Gone() bool { return h != nil && Closed(h.left) }

// Send hands a notice over and waits until the reader is done with it.
func (h *Hub) Send(n Notice) {
	n.heard = make(chan struct{})
	select {
	case h.items <- n:
	case <-h.left:
		return
	}
	select {
	case <-n.heard:
	case <-h.left:
	}
}

// Emitter returns what hands on what one attempt of a program emits, in notices
// like the one that of makes; nil if nobody listens. It waits only for room.
func (h *Hub) Emitter(of func(e *Emission) Notice) *Emitter {
	text, custom := h.Wants(StreamMessages), h.Wants(StreamCustom)
	if text == "" && custom == "" {
		return nil
	}
	return NewEmitter(func(ctx context.Context, over <-chan struct{}, e Emission) {
		n := of(&e)
		n.Kind, n.Mode, n.Text, n.Value, n.Step, n.Seq = EventMessage, text, e.Text, e.Value, e.Step, e.Seq
		if e.Custom {
			n.Kind, n.Mode = EventCustom, custom
		}
		if n.Mode == "" {
			return
		}
		select {
		case h.items <- n:
		case <-over:
		case <-h.left:
		case <-ctx.Done():
		}
	})
}

// read hands notices to the reader until the run has ended and all are told, or
// the reader leaves.
func (h *Hub) read(yield func(Notice) bool) {
	whole := false
	defer func() { // also if the reader panics
		if !whole {
			h.stop() // first: who sees that the reader left finds its context ended
			close(h.left)
		}
	}()
	one := func(n Notice) bool {
		if !yield(n) {
			return false
		}
		if n.heard != nil {
			close(n.heard)
		}
		return true
	}
	for {
		select {
		case n := <-h.items:
			if !one(n) {
				return
			}
			continue
		case <-h.ended:
		}
		for { // nobody sends any more
			select {
			case n := <-h.items:
				if !one(n) {
					return
				}
				continue
			default:
			}
			whole = true
			return
		}
	}
}

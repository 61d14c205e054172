package stream

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/runs"
)

// A Notice is an event on its way to the reader of a stream. The reader gets it as an
// event of the model's own type: its comments say what the fields mean.
type Notice struct {
	Kind runs.EventKind
	Mode runs.StreamMode
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

	heard chan struct{} // closed when the reader is done with it; nil: the sender does not wait
}

// chunks is how many pieces of text and values a stream buffers. Further ones wait.
const chunks = 64

// A Hub brings the notices of all goroutines of a run to the one reader of its stream. A
// nil Hub has no reader.
type Hub struct {
	modes []runs.StreamMode
	items chan Notice
	left  chan struct{} // closed once the reader has left
	ended chan struct{} // closed once the run has ended
}

// Read runs do in a goroutine, once for each iteration, and yields the notices that it sends.
// Without modes these are those of [runs.StreamValues]. An error of do is the last element,
// without a notice. A reader that leaves ends do's context and waits for its end.
func Read(ctx context.Context, modes []runs.StreamMode, do func(context.Context, *Hub) error) iter.Seq2[*Notice, error] {
	if len(modes) == 0 {
		modes = []runs.StreamMode{runs.StreamValues}
	}
	return func(yield func(*Notice, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		h := &Hub{modes: modes, items: make(chan Notice, chunks), left: make(chan struct{}), ended: make(chan struct{})}
		var err error
		go func() {
			defer close(h.ended)
			err = do(ctx, h)
		}()
		defer func() { // also if the reader panics
			cancel(errLeft) // first: what finds that the reader left finds its context ended
			close(h.left)
			<-h.ended
		}()
		for n := range h.notices {
			if !yield(&n, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// errLeft ends a run when its reader has left. No reader sees it.
var errLeft = errors.New("engine: the reader has left")

// Wants returns the first chosen mode that is among these, "" if no mode is.
func (h *Hub) Wants(any ...runs.StreamMode) runs.StreamMode {
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
func (h *Hub) Gone() bool { return h != nil && closed(h.left) }

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

// Emitter returns an emitter that sends what one attempt of a program emits, in notices
// that of begins. It waits only for room. It is nil without a reader.
func (h *Hub) Emitter(of func(e *Emission) Notice) *Emitter {
	text, custom := h.Wants(runs.StreamMessages), h.Wants(runs.StreamCustom)
	if text == "" && custom == "" {
		return nil
	}
	return NewEmitter(func(ctx context.Context, over <-chan struct{}, e Emission) {
		n := of(&e)
		n.Kind, n.Mode, n.Text, n.Value, n.Step, n.Seq = runs.EventMessage, text, e.Text, e.Value, e.Step, e.Seq
		if e.Custom {
			n.Kind, n.Mode = runs.EventCustom, custom
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

// notices yields what is sent until the run has ended and nothing is left.
func (h *Hub) notices(yield func(Notice) bool) {
	for {
		var n Notice
		select {
		case n = <-h.items:
		case <-h.ended: // no more is sent
			select {
			case n = <-h.items:
			default:
				return
			}
		}
		if !yield(n) {
			return
		}
		if n.heard != nil {
			close(n.heard)
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

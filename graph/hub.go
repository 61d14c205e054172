package graph

import (
	"context"
	"slices"

	"github.com/posthouse/posthouse/internal/engine"
)

// chunks is how many pieces of text and values may be on their way to a reader
// before those who emit them wait.
const chunks = 64

// A hub brings what a run tells, from all its goroutines, to the one reader.
// A nil hub has no reader.
type hub struct {
	modes []StreamMode
	items chan notice
	left  chan struct{} // closed once the reader has left
	ended chan struct{} // closed once the run has ended
	stop  func()        // ends the run's context
}

// A notice is an event on its way.
type notice struct {
	Event[any]
	result any           // a *Result[S]
	heard  chan struct{} // closed when the reader is done with it; nil: nobody waits for that
}

func newHub(modes []StreamMode, stop func()) *hub {
	if len(modes) == 0 {
		modes = []StreamMode{StreamValues}
	}
	return &hub{modes: modes, items: make(chan notice, chunks), left: make(chan struct{}), ended: make(chan struct{}), stop: stop}
}

// wants returns the first chosen mode that yields what these modes do, "" for
// none.
func (h *hub) wants(any ...StreamMode) StreamMode {
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

// gone reports whether the reader has left.
func (h *hub) gone() bool {
	if h == nil {
		return false
	}
	select {
	case <-h.left:
		return true
	default:
		return false
	}
}

// tell hands a notice over and waits until the reader is done with it.
func (h *hub) tell(n notice) {
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

// pass hands on what a task emits, and waits only for room.
func (h *hub) pass(ctx context.Context, over <-chan struct{}, n notice) {
	select {
	case h.items <- n:
	case <-over:
	case <-h.left:
	case <-ctx.Done():
	}
}

// read hands notices to the reader until the run has ended and all are told, or
// the reader leaves.
func (h *hub) read(yield func(notice) bool) {
	whole := false
	defer func() { // also if the reader panics
		if !whole {
			h.stop() // first: who sees that the reader left finds its context ended
			close(h.left)
		}
	}()
	one := func(n notice) bool {
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

// emitter returns what hands on what one attempt of a task emits, nil if nobody
// listens.
func (r *run[S]) emitter(t *task[S], attempt int) *engine.Emitter {
	text, custom := r.hub.wants(StreamMessages), r.hub.wants(StreamCustom)
	if text == "" && custom == "" {
		return nil
	}
	return engine.NewEmitter(func(ctx context.Context, over <-chan struct{}, e engine.Emission) {
		n := notice{Event: Event[any]{
			Kind: EventMessage, Mode: text, Path: r.path(), Node: t.node.name, Task: t.key.String(), Attempt: attempt,
			Text: e.Text, Value: e.Value, Step: e.Step, Seq: e.Seq,
		}}
		if e.Custom {
			n.Kind, n.Mode = EventCustom, custom
		}
		if n.Mode != "" {
			r.hub.pass(ctx, over, n)
		}
	})
}

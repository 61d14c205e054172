package server

import (
	"sync"

	"github.com/posthouse/posthouse/task"
)

// maxChunks is how many chunks wait for a client that reads slowly. It misses further ones.
const maxChunks = 64

// chunks are the clients that follow what handlers stream. The zero value is ready.
type chunks struct {
	mu  sync.Mutex
	all map[chan task.Chunk]string // the thread that each follows; "" is every one
}

// Chunk sends what a handler streams to the clients that follow its thread now. It does not
// wait for them.
func (s *Server) Chunk(c task.Chunk) {
	s.chunks.mu.Lock()
	defer s.chunks.mu.Unlock()
	for ch, thread := range s.chunks.all {
		if thread != "" && thread != c.Thread {
			continue
		}
		select {
		case ch <- c:
		default:
		}
	}
}

// follow returns the chunks of a thread, "" for all threads, until stop is called.
func (h *chunks) follow(thread string) (found <-chan task.Chunk, stop func()) {
	ch := make(chan task.Chunk, maxChunks)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[chan task.Chunk]string{}
	}
	h.all[ch] = thread
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.all, ch)
	}
}

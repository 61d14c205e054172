package stream

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

// send gives a chunk to those who follow its thread. It does not wait for them.
func (cs *chunks) send(c task.Chunk) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for ch, thread := range cs.all {
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
func (cs *chunks) follow(thread string) (found <-chan task.Chunk, stop func()) {
	ch := make(chan task.Chunk, maxChunks)
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.all == nil {
		cs.all = map[chan task.Chunk]string{}
	}
	cs.all[ch] = thread
	return ch, func() {
		cs.mu.Lock()
		defer cs.mu.Unlock()
		delete(cs.all, ch)
	}
}

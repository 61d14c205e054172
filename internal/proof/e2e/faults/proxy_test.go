package faults

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A line lies between clients and a server, and is as long as it is told: what a server
// answers arrives so much later, in its order. It loses nothing.
type line struct {
	net.Listener
	network, addr string
	delay, jitter atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
	done  chan struct{}
	wg    sync.WaitGroup
}

func newLine(t *testing.T, network, addr string) *line {
	t.Helper()
	listens, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{Listener: listens, network: network, addr: addr, conns: map[net.Conn]bool{}, done: make(chan struct{})}
	l.wg.Go(func() {
		for {
			down, err := listens.Accept()
			if err != nil {
				return
			}
			l.wg.Go(func() { l.serve(down) })
		}
	})
	t.Cleanup(func() {
		_ = listens.Close()
		close(l.done)
		l.mu.Lock()
		for c := range l.conns {
			_ = c.Close()
		}
		l.mu.Unlock()
		l.wg.Wait()
	})
	return l
}

// slow makes answers arrive after d and up to jitter more.
func (l *line) slow(d, jitter time.Duration) {
	l.delay.Store(int64(d))
	l.jitter.Store(int64(jitter))
}

func (l *line) serve(down net.Conn) {
	up, err := net.Dial(l.network, l.addr)
	if err != nil {
		_ = down.Close()
		return
	}
	l.mu.Lock()
	l.conns[down], l.conns[up] = true, true
	l.mu.Unlock()
	select {
	case <-l.done: // and they are not closed any more
		_, _ = down.Close(), up.Close()
	default:
	}
	l.wg.Go(func() { l.pass(up, down, false) })
	l.pass(down, up, true)
}

// A piece is what was read at once, and when it arrives.
type piece struct {
	data []byte
	due  time.Time
}

// pass passes bytes on until an end closes, and closes both.
func (l *line) pass(to, from net.Conn, late bool) {
	pieces := make(chan piece, 1024)
	l.wg.Go(func() {
		defer func() { _, _ = to.Close(), from.Close() }()
		for p := range pieces {
			if wait := time.Until(p.due); wait > 0 {
				timer := time.NewTimer(wait)
				select {
				case <-timer.C:
				case <-l.done:
					timer.Stop()
				}
			}
			if _, err := to.Write(p.data); err != nil {
				_ = from.Close() // so that no more is read
			}
		}
	})
	defer close(pieces)
	for buf := make([]byte, 32<<10); ; {
		n, err := from.Read(buf)
		if n > 0 {
			due := time.Now()
			if late {
				due = due.Add(time.Duration(l.delay.Load()) + time.Duration(rand.Int64N(l.jitter.Load()+1)))
			}
			select {
			case pieces <- piece{append([]byte(nil), buf[:n]...), due}:
			case <-l.done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

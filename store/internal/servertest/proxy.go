package servertest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

// A Proxy passes bytes on, and loses answers: it cuts a connection after so many of them.
type Proxy struct {
	net.Listener
	to      string
	answers int
	cuts    atomic.Int64
	wg      sync.WaitGroup
}

// StartProxy starts a proxy to an address, until the test ends. It cuts each connection
// after so many answers.
func StartProxy(t storetest.TB, to string, answers int) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Listener: l, to: to, answers: answers}
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.wg.Wait()
	})
	return p
}

func (p *Proxy) serve(c net.Conn) {
	defer c.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	p.wg.Go(func() {
		_, _ = io.Copy(server, c)
		_ = server.Close()
	})
	room := make([]byte, 64<<10)
	for n := 0; ; n++ {
		size, err := server.Read(room)
		if err != nil {
			return
		}
		if n == p.answers { // it has done what it was asked to
			p.cuts.Add(1)
			return
		}
		if _, err := c.Write(room[:size]); err != nil {
			return
		}
	}
}

// LoseAnswers writes several threads at once to a store that reaches its server through a
// proxy, until the proxy has cut so many connections. It returns how many entries each got
// acknowledged.
func LoseAnswers(t storetest.TB, s posthouse.Store, p *Proxy, threads, cuts int) []int {
	t.Helper()
	stop := make(chan struct{})
	var once sync.Once
	return WriteUntil(t, s, threads, stop, func(int64) {
		if p.cuts.Load() >= int64(cuts) {
			once.Do(func() { close(stop) })
		}
	})
}

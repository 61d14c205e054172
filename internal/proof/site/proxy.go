package site

import (
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Faults are what a proxy does to what goes through it: in the mean one piece of so many
// is late, or is the last one. 0 is never.
type Faults struct {
	Late  int           // a piece waits
	Delay time.Duration // at most so long
	Stall int           // a piece, and all after it, waits for StallFor
	Cut   int           // part of a piece goes through, then both connections are closed

	StallFor time.Duration
}

// A Proxy passes bytes on between clients and a server, and misbehaves. It loses what a
// closed connection loses, and repeats nothing.
type Proxy struct {
	l             net.Listener
	network, addr string
	faults        Faults
	closed        chan struct{}
	wg            sync.WaitGroup

	mu    sync.Mutex
	rnd   *rand.Rand
	cuts  int
	conns map[net.Conn]bool
	still chan struct{} // closed by Heal; nil: nothing is held
	asks  bool          // what clients send is held, too
}

// NewProxy starts a proxy in front of an address.
func NewProxy(network, addr string, f Faults, seed uint64) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		l: l, network: network, addr: addr, faults: f, closed: make(chan struct{}),
		rnd: rand.New(rand.NewPCG(seed, 1)), conns: map[net.Conn]bool{},
	}
	p.wg.Go(p.accept)
	return p, nil
}

// Addr returns where clients connect to.
func (p *Proxy) Addr() string { return p.l.Addr().String() }

// Cuts returns how many connections it has cut.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// Stall holds what comes from here on, until [Proxy.Heal]: the server's answers, and with
// asks also the clients' requests. Connections stay open, as in a network that has lost its
// route. If only the answers are held, requests are still executed.
func (p *Proxy) Stall(asks bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.still == nil {
		p.still, p.asks = make(chan struct{}), asks
	}
}

// Heal lets what [Proxy.Stall] holds go on.
func (p *Proxy) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.still != nil {
		close(p.still)
		p.still = nil
	}
}

// held waits while the proxy stalls. It is false if the proxy was closed.
func (p *Proxy) held(ask bool) bool {
	p.mu.Lock()
	still := p.still
	passes := still == nil || ask && !p.asks
	p.mu.Unlock()
	if passes {
		return true
	}
	select {
	case <-still:
		return true
	case <-p.closed:
		return false
	}
}

// Close ends the proxy and all its connections.
func (p *Proxy) Close() {
	close(p.closed)
	_ = p.l.Close()
	p.mu.Lock()
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		down, err := p.l.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(down) })
	}
}

func (p *Proxy) serve(down net.Conn) {
	defer p.forget(p.keep(down))
	up, err := net.Dial(p.network, p.addr)
	if err != nil {
		return
	}
	defer p.forget(p.keep(up))
	p.wg.Go(func() { p.pass(up, down, true) })
	p.pass(down, up, false)
}

// keep notes a connection, so that Close ends it.
func (p *Proxy) keep(c net.Conn) net.Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[c] = true
	select {
	case <-p.closed:
		_ = c.Close()
	default:
	}
	return c
}

func (p *Proxy) forget(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// pass passes bytes on until an end closes, and closes both. ask says that they are a
// client's.
func (p *Proxy) pass(to, from net.Conn, ask bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			wait, whole := p.fate(n)
			if !p.wait(wait) || !p.held(ask) {
				return
			}
			if _, werr := to.Write(buf[:whole]); werr != nil || whole < n {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// fate decides how long a piece waits, and how much of it goes through.
func (p *Proxy) fate(n int) (wait time.Duration, whole int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := func(of int) bool { return of > 0 && p.rnd.IntN(of) == 0 }
	if one(p.faults.Late) {
		wait = time.Duration(p.rnd.Int64N(int64(p.faults.Delay) + 1))
	}
	if one(p.faults.Stall) {
		wait = p.faults.StallFor
	}
	whole = n
	if one(p.faults.Cut) {
		p.cuts++
		whole = p.rnd.IntN(n)
	}
	return wait, whole
}

// wait is false if the proxy was closed in that time.
func (p *Proxy) wait(d time.Duration) bool {
	if d == 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.closed:
		return false
	}
}

package limit

import (
	"net"
	"net/http"
	"sync"
)

// Connections bound how many connections one address has open: more are closed as they come.
type Connections struct {
	share  int
	exempt func(address string) bool // addresses without a bound

	mu   sync.Mutex
	open map[net.Conn]string // the network of each that counts
	of   map[string]int      // by network
}

// NewConnections returns the bound of each address but those that are exempt.
func NewConnections(share int, exempt func(address string) bool) *Connections {
	return &Connections{share: share, exempt: exempt, open: map[net.Conn]string{}, of: map[string]int{}}
}

// State is [http.Server.ConnState].
func (c *Connections) State(conn net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		if !c.enter(conn) {
			_ = conn.Close() // the server reads from it, fails and forgets it
		}
	case http.StateClosed, http.StateHijacked: // a WebSocket has a place of its own
		c.leave(conn)
	}
}

func (c *Connections) enter(conn net.Conn) bool {
	address := Host(conn.RemoteAddr().String())
	if address == "" || c.exempt(address) {
		return true
	}
	network := Network(address)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[network] >= c.share {
		return false
	}
	c.open[conn] = network
	c.of[network]++
	return true
}

func (c *Connections) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	network, ok := c.open[conn]
	if !ok {
		return
	}
	delete(c.open, conn)
	if c.of[network]--; c.of[network] == 0 {
		delete(c.of, network)
	}
}

package limit

import (
	"net"
	"net/http"
	"testing"
)

type fakeConn struct {
	net.Conn
	address string
	closed  bool
}

func (c *fakeConn) RemoteAddr() net.Addr { return fakeAddr(c.address) }
func (c *fakeConn) Close() error         { c.closed = true; return nil }

type fakeAddr string

func (fakeAddr) Network() string  { return "tcp" }
func (a fakeAddr) String() string { return string(a) }

// TestConnectionsOfAnAddress: an address has its share, IPv6 by network, and what is closed makes room.
func TestConnectionsOfAnAddress(t *testing.T) {
	cs := NewConnections(2, IsLoopback)
	dial := func(address string, stays bool) *fakeConn {
		t.Helper()
		c := &fakeConn{address: address}
		cs.State(c, http.StateNew)
		if c.closed == stays {
			t.Errorf("a connection of %s: closed %v", address, c.closed)
		}
		if c.closed {
			cs.State(c, http.StateClosed)
		}
		return c
	}
	first := dial("192.0.2.1:1", true)
	dial("192.0.2.1:2", true)
	dial("192.0.2.1:3", false)
	dial("192.0.2.2:1", true)
	dial("[2001:db8::1]:1", true)
	dial("[2001:db8::2]:1", true)
	dial("[2001:db8::3]:1", false)
	for range 5 {
		dial("127.0.0.1:1", true)
		dial("[::1]:1", true)
	}
	cs.State(first, http.StateActive)
	cs.State(first, http.StateClosed)
	cs.State(first, http.StateClosed) // once more does nothing
	dial("192.0.2.1:4", true)
	dial("192.0.2.1:5", false)
}

package api

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestClientBehindProxies(t *testing.T) {
	ps := Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct{ peer, header, want string }{
		{"192.0.2.1:5", "198.51.100.1", "192.0.2.1"}, // no proxy: it says so itself
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"10.0.0.1:5", "198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:5", "203.0.113.9, 198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:5", "198.51.100.1, 10.2.2.2", "198.51.100.1"},
		{"10.0.0.1:5", "198.51.100.1:4711", "198.51.100.1"},
		{"10.0.0.1:5", "unknown, 10.2.2.2", "10.2.2.2"},
		{"10.0.0.1:5", "198.51.100.1,", "10.0.0.1"},
		{"[fd00::1]:5", "[2001:db8::1]:4711", "2001:db8::1"},
		{"[::ffff:10.0.0.1]:5", "2001:db8::1", "2001:db8::1"},
		{"@", "198.51.100.1", ""},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{}}
		if c.header != "" {
			r.Header.Set("X-Forwarded-For", c.header)
		}
		if got := ps.Client(r); got != c.want {
			t.Errorf("peer %s, header %q: client %q, want %q", c.peer, c.header, got, c.want)
		}
	}
}

package webhook

import (
	"net/netip"
	"testing"
)

// Tunnels and other ways to write an IPv4 address lead to a private one, too.
func TestAddressesThatAreNotPublic(t *testing.T) {
	g := &guard{}
	for _, s := range []string{"192.88.99.1", "::7f00:1", "::10.0.0.1", "::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "198.18.0.1"} {
		if g.allows(netip.MustParseAddr(s)) {
			t.Errorf("%s is taken for a public address", s)
		}
	}
	for _, s := range []string{"192.88.98.1", "192.88.100.1", "8.8.8.8", "::ffff:8.8.8.8", "2606:4700::1"} {
		if !g.allows(netip.MustParseAddr(s)) {
			t.Errorf("%s is a public address, and is refused", s)
		}
	}
}

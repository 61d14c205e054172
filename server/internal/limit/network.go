package limit

import (
	"net"
	"net/netip"
)

// Host returns an address without its port; "" if it is no address.
func Host(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return ""
	}
	return host
}

// Network returns the network of an address, which one client can have all of: of IPv6 the first 64 bits.
func Network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return address
	}
	return p.String()
}

// IsLoopback reports whether an address is this machine's own.
func IsLoopback(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Unmap().IsLoopback()
}

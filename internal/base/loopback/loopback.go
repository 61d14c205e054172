// Package loopback says which hosts are this machine, and so out of reach for readers on a
// network.
package loopback

import "net/netip"

// Is reports whether a host's name or address is this machine's own. No name but localhost
// is: where another leads is a resolver's to say.
func Is(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

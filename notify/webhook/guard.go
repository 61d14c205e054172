package webhook

import (
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/posthouse/posthouse"
)

// special are networks that are no place for a receiver out in the world, beside those that package
// netip knows by name.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // of providers, shared
	netip.MustParsePrefix("192.0.0.0/24"),    // of protocols
	netip.MustParsePrefix("192.0.2.0/24"),    // of documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // of relays into a tunnel
	netip.MustParsePrefix("198.18.0.0/15"),   // of benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // of documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // of documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
	netip.MustParsePrefix("::/96"),           // IPv4 written as IPv6
	netip.MustParsePrefix("64:ff9b::/96"),    // IPv4 through a translator
	netip.MustParsePrefix("64:ff9b:1::/48"),  // the same, locally
	netip.MustParsePrefix("100::/64"),        // discarded
	netip.MustParsePrefix("2001::/23"),       // of protocols, tunnels among them
	netip.MustParsePrefix("2001:db8::/32"),   // of documentation
	netip.MustParsePrefix("2002::/16"),       // IPv4 through a tunnel
	netip.MustParsePrefix("fec0::/10"),       // of sites, as it once was
}

// A guard says which addresses may be connected to.
type guard struct{ allow []netip.Prefix }

// control is called with the address of each connection before it is made: the name is resolved by
// then, so no other address can take its place.
func (g *guard) control(network, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	if network != "tcp4" && network != "tcp6" || !g.allows(a) {
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: "the receiver is at " + a.String() + ", which is no public address",
			Hint: "if it belongs there, allow its network for this webhook",
		}
	}
	return nil
}

func (g *guard) allows(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(a) }) {
		return true
	}
	return a.IsGlobalUnicast() && !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast() &&
		!slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// parseNetworks reads networks, as in 10.0.0.0/8, and single addresses.
func parseNetworks(all []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, s := range all {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			a, err := netip.ParseAddr(s)
			if err != nil || a.Zone() != "" {
				return nil, &posthouse.Error{
					Code: posthouse.CodeInvalid, Field: "allow", Message: "has \"" + s[:min(len(s), 80)] + "\", which is no network", Hint: "as in 10.0.0.0/8, or 192.168.1.7",
				}
			}
			p = netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
		}
		if p.Addr().Is4In6() {
			return nil, posthouse.Invalid("allow", "has %q: write an IPv4 network as one", s)
		}
		networks = append(networks, p.Masked())
	}
	return networks, nil
}

package api

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/posthouse/posthouse/server/internal/limit"
)

// Proxies are the addresses of proxies in front of the server. Their headers say where a request
// came from.
type Proxies []netip.Prefix

// Trusts reports whether an address is that of such a proxy.
func (ps Proxies) Trusts(address string) bool {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	a = a.Unmap().WithZone("")
	for _, p := range ps {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Client returns the address of the client of a request, without its port. It is the peer, or the
// last address of X-Forwarded-For that is no trusted proxy's, if only trusted proxies are behind it.
// An address that a client itself writes into that header comes before it, and counts for nothing.
func (ps Proxies) Client(r *http.Request) string {
	client := limit.Host(r.RemoteAddr)
	if !ps.Trusts(client) {
		return client
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		a, ok := parseHop(hops[i])
		if !ok {
			break // the proxy that wrote it is the last that is known
		}
		client = a.String()
		if !ps.Trusts(client) {
			break
		}
	}
	return client
}

// parseHop reads an address with or without a port, as proxies write it.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr().Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a.Unmap().WithZone(""), err == nil
}

package api

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/loopback"
)

// ScreenPath refuses empty and dot segments of a path as it was sent. A name may
// contain an encoded slash.
func ScreenPath(escaped string) error {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return posthouse.Invalid("path", "does not begin with a slash")
	}
	if rest == "" {
		return nil
	}
	for seg := range strings.SplitSeq(rest, "/") {
		s, err := url.PathUnescape(seg)
		switch {
		case err != nil, strings.ContainsRune(s, 0):
			return posthouse.Invalid("path", "is malformed, or has a zero byte")
		case s == "", s == ".", s == "..":
			e := posthouse.Invalid("path", "has empty or dot segments, or ends in a slash")
			e.Hint = "a name . or .. goes into a parameter, as in /api/threads/-?thread=.."
			return e
		}
	}
	return nil
}

// Hosts are what a Host header may say.
type Hosts map[string]bool

// NewHosts returns the hosts of these names, NAME or NAME:PORT, beside loopback.
func NewHosts(names []string) (Hosts, error) {
	l := Hosts{}
	for _, n := range names {
		n = strings.ToLower(n)
		if n == "" || strings.ContainsAny(n, "/ *") {
			return nil, posthouse.Invalid("AllowedHosts", "has %.80q; a name or name:port is wanted, without wildcards", n)
		}
		l[n] = true
	}
	return l, nil
}

// Allows reports whether a Host header is loopback's, with any port, or a listed
// one. A name listed without a port goes with any.
func (l Hosts) Allows(host string) bool {
	host = strings.ToLower(host)
	if l[host] {
		return true
	}
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil && port != "" {
			return false
		}
		name = h
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		name, ok = strings.CutSuffix(inner, "]")
		if !ok {
			return false
		}
	}
	if name == "" {
		return false
	}
	return loopback.Is(name) || l[name] || l["["+name+"]"]
}

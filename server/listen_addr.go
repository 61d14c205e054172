package server

import (
	"net"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/loopback"
)

// CheckListen reports whether a server may listen on addr. Loopback is always
// allowed. Other addresses need TLS or allowInsecure, as when a proxy in front
// does TLS; an address without a host means all interfaces. Errors:
// [posthouse.ErrForbidden]; [posthouse.ErrInvalid] for a malformed address.
func CheckListen(addr string, tls, allowInsecure bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "addr", Message: "must be host:port", Hint: "for example 127.0.0.1:8095", Err: err,
		}
	}
	if loopback.Is(host) || tls || allowInsecure {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Field: "addr",
		Message: "is reachable from other machines, and without TLS tokens and state would cross the network in the clear",
		Hint:    "listen on 127.0.0.1, or give a certificate, or allow it explicitly if a proxy in front does TLS",
	}
}

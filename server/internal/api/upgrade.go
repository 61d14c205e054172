package api

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// The subprotocols of a WebSocket.
const (
	SocketProtocol = "posthouse"         // what the server answers a client that offers it
	BearerProtocol = "posthouse.bearer." // and the token; offered, never answered
)

// IsUpgrade reports whether a request asks for a WebSocket.
func IsUpgrade(r *http.Request) bool {
	has := func(header, token string) bool {
		return slices.ContainsFunc(r.Header.Values(header), func(line string) bool {
			return slices.ContainsFunc(strings.Split(line, ","), func(t string) bool { return strings.EqualFold(strings.TrimSpace(t), token) })
		})
	}
	key, err := base64.StdEncoding.DecodeString(r.Header.Get("Sec-WebSocket-Key"))
	return r.Method == http.MethodGet && has("Connection", "upgrade") && has("Upgrade", "websocket") &&
		r.Header.Get("Sec-WebSocket-Version") == "13" && err == nil && len(key) == 16
}

// SubprotocolToken returns the token that a WebSocket offers as a subprotocol.
func SubprotocolToken(r *http.Request) (secret string, given bool) {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for _, p := range strings.Split(line, ",") {
			secret, given = strings.CutPrefix(strings.TrimSpace(p), BearerProtocol)
			if given {
				return secret, true
			}
		}
	}
	return "", false
}

package api

import (
	"net/http"
	"strings"
)

// IsSecure reports whether a browser came over TLS, here or to a proxy in front that says so. It is
// for the attribute Secure of cookies alone: a client that says so itself loses only its own cookie.
func IsSecure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

package server

import (
	"net/http"

	"github.com/posthouse/posthouse/internal/seldom"
)

// refused logs credentials that were not accepted, as warnings, so that they are seen at
// the default level. A line says where from and for whom, never what was sent.
type refused struct{ log *seldom.Log }

// note logs one. name is the owner of a token that expired; "" if nobody has it.
func (f *refused) note(r *http.Request, name, why string) {
	attrs := []any{"from", r.RemoteAddr, "method", r.Method, "why", why}
	if name != "" {
		attrs = append(attrs, "token", name)
	}
	f.log.Warn("an access token was refused", attrs...)
}

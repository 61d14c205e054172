// Package auth says who sends a request, and what that client may do.
//
//	a := auth.New(tokens, logins, life, log)
//	actor, err := a.Authenticate(w, r) // r.Route says which role it needs
//	by, actor, err := auth.ActingFor(r.Actor, name)
//
// A client is known by its access token, in the header Authorization or in a subprotocol of a
// WebSocket, or by the cookie of a browser that logged in. Credentials that were not accepted
// are logged, seldom, without what was sent; when tokens were last used is written to their
// file in the background.
package auth

// Package session keeps the logins of browsers and the sessions of clients. [Logins]
// are in a file beside the tokens, by cookie; a [Store] has the sessions of clients in slots,
// by token. [Sessions] are the routes of these: /api/session. A [Client] is the
// session of one request or connection.
//
// Neither keeps a secret: cookies and tokens are kept as hashes.
package session

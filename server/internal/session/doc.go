// Package session knows who comes back: browsers that logged in ([Logins], in
// memory, behind a cookie), and clients that connect again ([Clients], in slots of
// the store, behind a token).
//
// Neither keeps a secret: cookies and tokens are kept as hashes.
//
// The package may import the root package, server/internal/api, server/problem and
// server/tokens.
package session

// Package session keeps the logins of browsers and the sessions of clients. [Logins]
// are in a file beside the tokens, behind a cookie; [Clients] are in slots of the store, behind a token.
//
// Neither keeps a secret: cookies and tokens are kept as hashes.
//
// The package may import the root package, internal/filelock, internal/secretfile,
// server/internal/api, server/problem and server/tokens.
package session

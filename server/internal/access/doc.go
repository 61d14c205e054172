// Package access has the resource of access tokens, /api/tokens: an operator sees who may come, makes
// tokens and revokes them, as posthouse token does where the data directory is.
package access

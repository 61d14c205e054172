// Package datadir has the paths of a data directory's files: the store, the signing key
// with its ring of public keys, and the access token.
//
//	<dir>/            0700
//	  posthouse.db    the store, SQLite with its -wal and -shm beside it
//	  signing.key     0600, Ed25519; signing.key.pub is what verifying needs
//	  token           0600, the operator's access token
package datadir

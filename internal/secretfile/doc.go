// Package secretfile reads and writes small files that must be whole and, where they
// hold a secret, their owner's alone: keys, rings of public keys, signed statements.
// A file appears complete and durably, or not at all; a secret that others may read
// is refused.
//
// It may import the standard library, the root package for its errors, and
// internal/durable.
package secretfile

// Package secretfile reads and writes small files that must be whole: keys, rings of
// public keys, signed statements. A file appears complete and durably, or not at all.
// A secret that other users may read is refused.
package secretfile

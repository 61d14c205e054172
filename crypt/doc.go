// Package crypt has the keys that encrypt a store.
//
// A [Keyring] is a posthouse.Cipher with its keys in memory. To rotate, open the
// Ledger with a ring that has one more key as the current one, and rewrap:
//
//	ring, err := crypt.NewKeyring(map[string][]byte{"2026": old, "2027": key}, "2027")
//	led, err := ledger.Open(store, &ledger.Options{Cipher: ring})
//	done, err := crypt.Rewrap(ctx, led)
//
// Each generation of each thread has a data key of its own, wrapped by one of the
// Cipher's keys. So rewrapping touches no entry and changes no hash. [KeyUse] says which
// keys are still needed, [Status] whether a store is encrypted, and [WriteInClear]
// records that it may be written in the clear.
package crypt

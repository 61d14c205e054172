// Package encryption seals the bodies of entries, and keeps the keys for it.
//
// Each generation of a thread has a data key (data_key.go). It is wrapped by the
// Ledger's Cipher and kept in a slot beside the log: rewrapping touches no entry, and
// without the slot nothing of the generation opens. A [Vault] makes and caches data
// keys, seals bodies and slots with them, and opens them.
//
// A store in which anything was sealed is marked as encrypted (mark.go). A Ledger
// without a Cipher writes nothing in the clear there (guard.go).
package encryption

// Package keyfile keeps the encryption keys for a Ledger's Cipher in a file: made on
// first use, rotated by adding a key, retired once nothing is wrapped with it.
//
//	keys, err := keyfile.LoadOrCreate("encryption.keys") // mode 0600
//	cipher, err := keys.Keyring()
//	led, err := ledger.Open(store, &ledger.Options{Cipher: cipher})
//
// Without the file nothing that it encrypts can be read: keep a copy elsewhere.
package keyfile

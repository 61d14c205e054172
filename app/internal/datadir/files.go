package datadir

import "path/filepath"

// Files returns the files of a data directory by their names, each with what it holds.
func Files() [][2]string {
	d := Dir("")
	return [][2]string{
		{filepath.Base(string(d.StoreURL()[len("sqlite:"):])), "the store, unless another is named; SQLite keeps a file that ends in -wal and one that ends in -shm beside it"},
		{d.Key(), "the signing key, made by the first start. Back it up apart from the store"},
		{d.EncryptionKeys(), "the encryption keys, if encryption is on. What is stored cannot be read without them"},
		{d.Token(), "the operator's access token, made by the first start. Only its owner may read it"},
		{"tokens.json", "the access tokens: names, roles and hashes"},
		{d.TokensUsed(), "when tokens were used last"},
		{d.TokensRecorded(), "which tokens are on record as made, as hashes"},
		{d.Ends(), "where the newest threads ended, by which a start notices that the store was put back. It belongs in no backup"},
		{filepath.Base(d.markPath()), "which store the directory belongs to, and which key signs there"},
	}
}

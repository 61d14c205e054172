package sign

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secretfile"
)

// EncryptionKeys are the content of a file with encryption keys: the keys that
// wrap the data keys of threads. The last one is the current one. An id is
// "aes256:" and 16 hexadecimal digits of the key's SHA-256, so that a name
// always means the same key.
type EncryptionKeys struct {
	ids  []string // in the file's order
	keys map[string][]byte
}

const (
	pemEncryption  = "POSTHOUSE ENCRYPTION KEY"
	encryptionSize = 32
	maxEncryption  = 1 << 16
)

func encryptionID(key []byte) string {
	sum := sha256.Sum256(key)
	return "aes256:" + hex.EncodeToString(sum[:8])
}

// IDs returns the ids, the oldest first, the current one last.
func (k *EncryptionKeys) IDs() []string { return slices.Clone(k.ids) }

// Current returns the id of the current key.
func (k *EncryptionKeys) Current() string { return k.ids[len(k.ids)-1] }

// Keyring returns the cipher that the keys make.
func (k *EncryptionKeys) Keyring() (*posthouse.Keyring, error) {
	return posthouse.NewKeyring(k.keys, k.Current())
}

// ParseEncryptionKeys reads the content of a key file: PEM blocks of 32 bytes.
// [posthouse.ErrInvalid].
func ParseEncryptionKeys(data []byte) (*EncryptionKeys, error) {
	k := &EncryptionKeys{keys: map[string][]byte{}}
	err := eachBlock("encryption keys", data, func(b *pem.Block) error {
		switch {
		case b.Type != pemEncryption || len(b.Headers) > 0:
			return invalid("encryption keys", fmt.Sprintf("have a PEM block of type %.40q; only %s belongs there", b.Type, pemEncryption), nil)
		case len(b.Bytes) != encryptionSize:
			return invalid("encryption keys", fmt.Sprintf("have a key of %d bytes, not %d", len(b.Bytes), encryptionSize), nil)
		case k.keys[encryptionID(b.Bytes)] != nil:
			return invalid("encryption keys", "have a key twice: "+encryptionID(b.Bytes), nil)
		}
		k.add(b.Bytes)
		return nil
	})
	if err == nil && len(k.ids) == 0 {
		err = invalid("encryption keys", "are none", nil)
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}

func (k *EncryptionKeys) add(key []byte) string {
	id := encryptionID(key)
	k.ids = append(k.ids, id)
	k.keys[id] = key
	return id
}

func (k *EncryptionKeys) encode() []byte {
	var b bytes.Buffer
	b.WriteString("# Keep a copy: without these keys nothing that they encrypt can be read. The last one is the current one.\n")
	for _, id := range k.ids {
		fmt.Fprintf(&b, "# %s\n%s", id, pem.EncodeToMemory(&pem.Block{Type: pemEncryption, Bytes: k.keys[id]}))
	}
	return b.Bytes()
}

// LoadEncryptionKeys loads a key file. [posthouse.ErrNotFound],
// [posthouse.ErrInvalid] if it does not parse or others may read it.
func LoadEncryptionKeys(path string) (*EncryptionKeys, error) {
	return secretfile.LoadSecret(path, maxEncryption, ParseEncryptionKeys)
}

// LoadOrCreateEncryptionKeys loads the key file, or makes one with one key:
// mode 0600, complete or absent, and on disk when it returns. Of several
// processes that start at once, one makes the key and all load it. Keep a copy
// of the file elsewhere: without it nothing that it encrypts can be read.
func LoadOrCreateEncryptionKeys(path string) (*EncryptionKeys, error) {
	k, err := LoadEncryptionKeys(path)
	if !errors.Is(err, posthouse.ErrNotFound) {
		return k, err
	}
	k = &EncryptionKeys{keys: map[string][]byte{}}
	k.add(newEncryptionKey())
	if err := secretfile.WriteNew(path, k.encode(), 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return LoadEncryptionKeys(path)
}

func newEncryptionKey() []byte {
	key := make([]byte, encryptionSize)
	_, _ = rand.Read(key) // never fails, see crypto/rand
	return key
}

// RotateEncryptionKeys adds a new current key to the file and returns its id.
// Processes that run go on with the one before until they are restarted; then
// [posthouse.Ledger.Rewrap], and RetireEncryptionKey for the old one. Change one
// key file by one process at a time.
func RotateEncryptionKeys(path string) (id string, err error) {
	k, err := LoadEncryptionKeys(path)
	if err != nil {
		return "", err
	}
	id = k.add(newEncryptionKey())
	return id, secretfile.Replace(path, k.encode(), 0o600)
}

// RetireEncryptionKey takes a key out of the file, for good: see with
// [posthouse.Ledger.KeyUse] that nothing is wrapped with it. [posthouse.ErrNotFound],
// [posthouse.ErrConflict] for the current one.
func RetireEncryptionKey(path, id string) error {
	k, err := LoadEncryptionKeys(path)
	switch {
	case err != nil:
		return err
	case k.keys[id] == nil:
		return &posthouse.Error{Code: posthouse.CodeNotFound, Message: fmt.Sprintf("there is no key %.80q in %s", id, path)}
	case id == k.Current():
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "key " + id + " is the current one", Hint: "rotate first"}
	}
	k.ids = slices.DeleteFunc(k.ids, func(i string) bool { return i == id })
	return secretfile.Replace(path, k.encode(), 0o600)
}

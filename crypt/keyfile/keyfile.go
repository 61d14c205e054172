package keyfile

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
	"github.com/posthouse/posthouse/crypt"
	"github.com/posthouse/posthouse/internal/secretfile"
)

// Keys are the content of a key file: the keys that wrap the data keys of threads. The
// last one is the current one. An id is "aes256:" and 16 hexadecimal digits of the key's
// SHA-256, so an id always means the same key.
type Keys struct {
	ids  []string // in the file's order
	keys map[string][]byte
}

const (
	pemType = "POSTHOUSE ENCRYPTION KEY"
	keySize = 32
	maxFile = 1 << 16
)

func keyID(key []byte) string {
	sum := sha256.Sum256(key)
	return "aes256:" + hex.EncodeToString(sum[:8])
}

// IDs returns the ids from the oldest to the current one.
func (k *Keys) IDs() []string { return slices.Clone(k.ids) }

// Current returns the id of the current key.
func (k *Keys) Current() string { return k.ids[len(k.ids)-1] }

// Keyring returns a cipher with the keys.
func (k *Keys) Keyring() (*crypt.Keyring, error) {
	return crypt.NewKeyring(k.keys, k.Current())
}

// Parse reads the content of a key file: PEM blocks of 32 bytes. It fails with
// [posthouse.ErrInvalid].
func Parse(data []byte) (*Keys, error) {
	k := &Keys{keys: map[string][]byte{}}
	err := secretfile.Blocks("encryption keys", data, func(b *pem.Block) error {
		switch {
		case b.Type != pemType || len(b.Headers) > 0:
			return posthouse.Invalid("encryption keys", "have a PEM block of type %.40q; only %s belongs there", b.Type, pemType)
		case len(b.Bytes) != keySize:
			return posthouse.Invalid("encryption keys", "have a key of %d bytes, not %d", len(b.Bytes), keySize)
		case k.keys[keyID(b.Bytes)] != nil:
			return posthouse.Invalid("encryption keys", "have a key twice: %s", keyID(b.Bytes))
		}
		k.add(b.Bytes)
		return nil
	})
	if err == nil && len(k.ids) == 0 {
		err = posthouse.Invalid("encryption keys", "are none")
	}
	if err != nil {
		return nil, err
	}
	return k, nil
}

func (k *Keys) add(key []byte) string {
	id := keyID(key)
	k.ids = append(k.ids, id)
	k.keys[id] = key
	return id
}

func (k *Keys) encode() []byte {
	var b bytes.Buffer
	b.WriteString("# Keep a copy: without these keys nothing that they encrypt can be read. The last one is the current one.\n")
	for _, id := range k.ids {
		fmt.Fprintf(&b, "# %s\n%s", id, pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: k.keys[id]}))
	}
	return b.Bytes()
}

// Load loads a key file. It fails with [posthouse.ErrNotFound] if there is no file, and with
// [posthouse.ErrInvalid] if it does not parse or other users may read it.
func Load(path string) (*Keys, error) {
	return secretfile.LoadSecret(path, maxFile, Parse)
}

// LoadOrCreate loads the key file, or makes one with one key. A new file has mode 0600, is
// complete or absent, and is on disk when LoadOrCreate returns. If several processes start
// at once, one makes the key and all load it. Keep a copy of the file elsewhere: without
// it nothing that it encrypts can be read.
func LoadOrCreate(path string) (*Keys, error) {
	k, err := Load(path)
	if !errors.Is(err, posthouse.ErrNotFound) {
		return k, err
	}
	k = &Keys{keys: map[string][]byte{}}
	k.add(newKey())
	if err := secretfile.WriteNew(path, k.encode(), 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return Load(path)
}

func newKey() []byte {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails, see crypto/rand
	return key
}

// Rotate adds a new current key to the file and returns its id. Running processes use the
// key before it until they are restarted. Then call [crypt.Rewrap], and [Retire] for the
// old key. Only one process at a time may change a key file.
func Rotate(path string) (id string, err error) {
	k, err := Load(path)
	if err != nil {
		return "", err
	}
	id = k.add(newKey())
	return id, secretfile.Replace(path, k.encode(), 0o600)
}

// Retire removes a key from the file, for good. First check with [crypt.KeyUse] that it
// wraps nothing. It fails with [posthouse.ErrNotFound] for an unknown key and with
// [posthouse.ErrConflict] for the current one.
func Retire(path, id string) error {
	k, err := Load(path)
	if err == nil {
		err = k.CanRetire(id)
	}
	if err != nil {
		return err
	}
	k.ids = slices.DeleteFunc(k.ids, func(i string) bool { return i == id })
	return secretfile.Replace(path, k.encode(), 0o600)
}

// CanRetire returns why [Retire] would refuse to take a key out: [posthouse.ErrNotFound] if there is
// no key of that id, [posthouse.ErrConflict] if it is the current one.
func (k *Keys) CanRetire(id string) error {
	switch {
	case k.keys[id] == nil:
		return &posthouse.Error{Code: posthouse.CodeNotFound, Message: fmt.Sprintf("there is no key %.80q in the key file", id), Hint: "posthouse encryption status lists them"}
	case id == k.Current():
		return &posthouse.Error{Code: posthouse.CodeConflict, Message: "key " + id + " is the current one", Hint: "rotate first"}
	}
	return nil
}

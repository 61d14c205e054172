package session

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/secretfile"
)

// signInKeyFile has the key that signs what a browser keeps of a login that has begun. The servers of a
// data directory share it.
const signInKeyFile = "signin.key"

// SignInKey returns that key, which is made if it is not there. With an error it is one of this
// process alone: a login has to end where it began.
func SignInKey(dir string) (key []byte, err error) {
	path := filepath.Join(dir, signInKeyFile)
	own := make([]byte, 32)
	_, _ = rand.Read(own) // never fails
	found, err := secretfile.LoadSecret(path, 1<<10, parseKey)
	if errors.Is(err, posthouse.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		err = secretfile.WriteNew(path, []byte(hex.EncodeToString(own)+"\n"), 0o600)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return own, err
		}
		found, err = secretfile.LoadSecret(path, 1<<10, parseKey) // another server made it
	}
	if err != nil {
		return own, err
	}
	return *found, nil
}

func parseKey(data []byte) (*[]byte, error) {
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != 32 {
		return nil, posthouse.Invalid("key", "is damaged: remove the file, and another one is made")
	}
	return &key, nil
}

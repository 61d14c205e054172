package keyfile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/crypt/keyfile"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// TestEncryptionKeyFile makes, rotates and retires keys in a file.
func TestEncryptionKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "encryption.keys")
	if _, err := keyfile.Load(path); !errors.Is(err, posthouse.ErrNotFound) {
		t.Fatalf("no file: %v", err)
	}
	if _, err := keyfile.Rotate(path); !errors.Is(err, posthouse.ErrNotFound) {
		t.Fatalf("rotating no file: %v", err)
	}
	first := must.Get(keyfile.LoadOrCreate(path))(t)
	again := must.Get(keyfile.LoadOrCreate(path))(t)
	if !slices.Equal(first.IDs(), again.IDs()) || len(first.IDs()) != 1 {
		t.Fatalf("%v, then %v", first.IDs(), again.IDs())
	}
	if st := must.Get(os.Stat(path))(t); runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("mode %04o", st.Mode().Perm())
	}
	id := must.Get(keyfile.Rotate(path))(t)
	both := must.Get(keyfile.Load(path))(t)
	if want := []string{first.Current(), id}; !slices.Equal(both.IDs(), want) || must.Get(both.Keyring())(t).Current() != id {
		t.Errorf("keys %v, want %v", both.IDs(), want)
	}
	if err := keyfile.Retire(path, id); !errors.Is(err, posthouse.ErrConflict) {
		t.Errorf("retiring the current one: %v", err)
	}
	if err := keyfile.Retire(path, "aes256:0000"); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("retiring another: %v", err)
	}
	if err := keyfile.Retire(path, first.Current()); err != nil {
		t.Fatal(err)
	}
	if got := must.Get(keyfile.Load(path))(t).IDs(); !slices.Equal(got, []string{id}) {
		t.Errorf("left: %v", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := keyfile.LoadOrCreate(path); !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "can be read by others") {
		t.Errorf("a file for all to read: %v", err)
	}
}

// TestEncryptionKeysRefuse parses what is not a key file in full.
func TestEncryptionKeysRefuse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "encryption.keys")
	must.Get(keyfile.LoadOrCreate(path))(t)
	good := must.Get(os.ReadFile(path))(t)
	for name, data := range map[string][]byte{
		"empty":         nil,
		"comments":      []byte("# nothing\n"),
		"cut off":       good[:len(good)-20],
		"twice":         append(bytes.Clone(good), good...),
		"another type":  bytes.ReplaceAll(good, []byte("ENCRYPTION"), []byte("DECRYPTION")),
		"a signing key": []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"),
		"a short key":   []byte("-----BEGIN POSTHOUSE ENCRYPTION KEY-----\nAAAA\n-----END POSTHOUSE ENCRYPTION KEY-----\n"),
		"text after it": append(bytes.Clone(good), "and more"...),
	} {
		if _, err := keyfile.Parse(data); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
}

// FuzzParseEncryptionKeys: anything at all is keys that work or an error of ours.
func FuzzParseEncryptionKeys(f *testing.F) {
	f.Add([]byte("# k\n-----BEGIN POSTHOUSE ENCRYPTION KEY-----\nAQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=\n-----END POSTHOUSE ENCRYPTION KEY-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := keyfile.Parse(data)
		if err != nil {
			if !errors.Is(err, posthouse.ErrInvalid) {
				t.Fatalf("an error that is none of ours: %v", err)
			}
			return
		}
		if r, err := k.Keyring(); err == nil && r.Current() != k.Current() {
			t.Fatalf("the current key is %s, not %s", r.Current(), k.Current())
		}
	})
}

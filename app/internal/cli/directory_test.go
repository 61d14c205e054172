package cli_test

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/cli"
	"github.com/posthouse/posthouse/app/internal/cli/clitest"
	"github.com/posthouse/posthouse/app/internal/host"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/all"
)

// TestVanishedStore: a store that is gone, or is an empty file, beside a key that
// has signed is not replaced unasked; verify says what it is.
func TestVanishedStore(t *testing.T) {
	e := &clitest.Dir{T: t, Path: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	db := filepath.Join(e.Path, "posthouse.db")
	if err := e.Serve(nil, func(r *host.Host) { e.Save(r, "t", "x") }); err != nil {
		t.Fatal(err)
	}
	refused := func(what string) {
		t.Helper()
		err := e.Serve(nil, nil)
		var pe *posthouse.Error
		if !errors.As(err, &pe) || pe.Code != posthouse.CodeNotFound || !strings.Contains(pe.Hint, "--new-store") {
			t.Errorf("%s: it starts, or says %v", what, err)
		}
	}
	if err := os.Remove(db); err != nil {
		t.Fatal(err)
	}
	refused("without the file")
	if _, err := os.Stat(db); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a new store was made all the same: %v", err)
	}
	for _, content := range []string{"", "x"} {
		if err := os.WriteFile(db, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if out := e.Run(posthouse.ExitCorrupt, "verify"); !strings.Contains(out, "holds no store") {
			t.Errorf("verify of %d bytes says\n%s", len(content), out)
		}
		e.Run(posthouse.ExitCorrupt, "compact")
	}
	if err := os.Truncate(db, 0); err != nil {
		t.Fatal(err)
	}
	refused("with an empty file")
	if err := e.Serve([]string{"--new-store"}, nil); err != nil {
		t.Fatal("with --new-store: ", err)
	}
	if err := e.Serve(nil, nil); err != nil {
		t.Error("and then: ", err)
	}
}

// A kindOfStore is a place for stores, and how what is there goes away.
type kindOfStore struct {
	url, other string             // addresses
	destroy    func(t *testing.T) // what is at url
}

func kindsOfStores(t *testing.T) map[string]kindOfStore {
	dir := t.TempDir()
	remove := func(names ...string) func(*testing.T) {
		return func(t *testing.T) {
			for _, name := range names {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	pg := pgtest.URL(t)
	return map[string]kindOfStore{
		"sqlite": {"sqlite:" + at("a.db"), "sqlite:" + at("b.db"), remove("a.db", "a.db-wal", "a.db-shm", "a.db.lock")},
		"a rest": {"sqlite:" + at("c.db"), "sqlite:" + at("d.db"), func(t *testing.T) {
			remove("c.db-wal", "c.db-shm", "c.db.lock")(t)
			if err := os.WriteFile(at("c.db"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		"files": {"file:" + at("log"), "file:" + at("log2"), remove("log")},
		"nats":  {"nats:" + at("nats"), "nats:" + at("nats2"), remove("nats")},
		"postgres": {pg + "&schema=here", pg + "&schema=there", func(t *testing.T) {
			s, err := all.Open(t.Context(), pg+"&schema=here", nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.(interface{ Drop(context.Context) error }).Drop(t.Context()), s.Close()); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

// TestStoreOfADirectory: a data directory says which store it belongs to, of any kind. One
// that is gone is not made again in silence, and another is not taken for it.
func TestStoreOfADirectory(t *testing.T) {
	for name, k := range kindsOfStores(t) {
		t.Run(name, func(t *testing.T) {
			e := &clitest.Dir{T: t, Path: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}, Config: cli.Config{OpenStore: all.Open}}
			serve := func(url string, again bool) error {
				return e.Serve([]string{"--store", url, "--new-store=" + strconv.FormatBool(again)}, nil)
			}
			ok := func(what string, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
			}
			refused := func(what string, code posthouse.Code, err error) {
				t.Helper()
				if pe := (*posthouse.Error)(nil); !errors.As(err, &pe) || pe.Code != code || !strings.Contains(pe.Hint, "--new-store") {
					t.Errorf("%s: it starts, or says %v", what, err)
				}
			}
			ok("a first start", e.Serve([]string{"--store", k.url}, func(h *host.Host) { e.Save(h, "t", "x") }))
			ok("a second start", serve(k.url, false))
			mark := filepath.Join(e.Path, "store.json")
			ok("the mark", os.Remove(mark)) // as in a directory of an earlier version
			ok("a start of an earlier version's directory", serve(k.url, false))
			_, err := os.Stat(mark)
			ok("its mark", err)

			stranger := &clitest.Dir{T: t, Path: t.TempDir(), Vars: e.Vars, Config: cli.Config{OpenStore: all.Open}}
			ok("another directory's store", stranger.Serve([]string{"--store", k.other}, nil))
			refused("with another's store", posthouse.CodeConflict, serve(k.other, false))
			copied := "file:" + filepath.Join(t.TempDir(), "copy")
			e.Run(0, "store", "copy", k.url, copied)
			ok("with a copy", serve(copied, false))
			ok("with the original again", serve(k.url, false))

			k.destroy(t)
			refused("without the store", posthouse.CodeNotFound, serve(k.url, false))
			refused("and again", posthouse.CodeNotFound, serve(k.url, false))
			ok("with --new-store", serve(k.url, true))
			ok("and then", serve(k.url, false))
			refused("with the copy of the old one", posthouse.CodeConflict, serve(copied, false))
			ok("with the copy and --new-store", serve(copied, true))
			ok("and then with the copy", serve(copied, false))
			ok("in memory", serve("memory:", false))
			ok("with the copy after that", serve(copied, false))
		})
	}
}

// TestUsedDirectoryWithoutItsStore: a directory of an earlier version has no mark. One of its
// tokens was used, so there was a store, also where nothing else is left of it.
func TestUsedDirectoryWithoutItsStore(t *testing.T) {
	e := &clitest.Dir{T: t, Path: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	if err := e.Serve(nil, func(h *host.Host) { e.Save(h, "t", "x") }); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(e.Path, "tokens-used.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"posthouse.db*", "store.json", "signing.key*"} {
		files, err := filepath.Glob(filepath.Join(e.Path, pattern))
		for _, f := range files {
			err = errors.Join(err, os.RemoveAll(f))
		}
		if err != nil || len(files) == 0 {
			t.Fatalf("pattern %v, files %v, error %v", pattern, files, err)
		}
		if pattern == "posthouse.db*" {
			continue // the mark is there
		}
		var pe *posthouse.Error
		if err := e.Serve(nil, nil); !errors.As(err, &pe) || pe.Code != posthouse.CodeNotFound || !strings.Contains(pe.Hint, "--new-store") {
			t.Errorf("without %s: it starts, or says %v", pattern, err)
		}
	}
	if err := e.Serve([]string{"--new-store"}, nil); err != nil {
		t.Error("with --new-store: ", err)
	}
}

// TestRestoredStoreIsTheSame: a backup stands in for the store.
func TestRestoredStoreIsTheSame(t *testing.T) {
	e := &clitest.Dir{T: t, Path: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	if err := e.Serve(nil, func(h *host.Host) { e.Save(h, "t", "x") }); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	e.Run(0, "backup", backup)
	if err := e.Serve([]string{"--store", "sqlite:" + backup}, nil); err != nil {
		t.Error("with the backup: ", err)
	}
}

// TestLostEncryptionKey: --encrypt makes a key for a store that is not encrypted, never
// beside a store that lost its key.
func TestLostEncryptionKey(t *testing.T) {
	for _, keys := range []string{"", filepath.Join(t.TempDir(), "keys")} {
		e := &clitest.Dir{T: t, Path: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
		if err := e.Serve([]string{"--encrypt", "--keys", keys}, func(h *host.Host) { e.Save(h, "t", "x") }); err != nil {
			t.Fatal(err)
		}
		path := cmp.Or(keys, filepath.Join(e.Path, "encryption.keys"))
		if err := os.Rename(path, path+".lost"); err != nil {
			t.Fatal(err)
		}
		if err := e.Serve([]string{"--encrypt", "--keys", keys}, nil); !errors.Is(err, posthouse.ErrSealed) {
			t.Errorf("without its key it starts: %v", err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a new key was made: %v", err)
		}
		if err := os.Rename(path+".lost", path); err != nil {
			t.Fatal(err)
		}
		if err := e.Serve([]string{"--encrypt", "--keys", keys}, nil); err != nil {
			t.Error("with its key: ", err)
		}
	}
}

// TestLostSigningKey: a key that has signed what is in the store is neither made again in silence
// nor taken for another, whatever is left of it.
func TestLostSigningKey(t *testing.T) {
	e := &clitest.Dir{T: t, Path: t.TempDir(), Vars: map[string]string{"HOME": t.TempDir()}}
	path := filepath.Join(e.Path, "signing.key")
	ok := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	refused := func(what string) {
		t.Helper()
		var pe *posthouse.Error
		if err := e.Serve(nil, nil); !errors.As(err, &pe) || pe.Code != posthouse.CodeNotFound || pe.Field != "signing key" || !strings.Contains(pe.Hint, "--new-key") {
			t.Errorf("%s: it starts, or says %v", what, err)
		}
	}
	ok("a first start", e.Serve(nil, func(h *host.Host) { e.Save(h, "t", "x") }))
	ok("away", os.Rename(path, path+".lost"))
	refused("without the key")
	_, err := os.Stat(path)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key was made: %v", err)
	}
	ok("its public keys away", os.Rename(path+".pub", path+".pub.lost"))
	refused("without its public keys, too")
	_, err = sign.LoadOrCreate(path)
	ok("another key", err)
	refused("with another key")
	ok("that away", errors.Join(os.Remove(path), os.Rename(path+".pub.lost", path+".pub")))
	mark, err := os.ReadFile(filepath.Join(e.Path, "store.json"))
	ok("the mark", err)
	old := regexp.MustCompile(`\n  "key": "[^"]*",`).ReplaceAll(mark, nil)
	if len(old) == len(mark) {
		t.Fatalf("the mark names no key: %s", mark)
	}
	ok("a mark of an earlier version", os.WriteFile(filepath.Join(e.Path, "store.json"), old, 0o600))
	refused("without the key, and with a mark that names none")
	ok("back", os.Rename(path+".lost", path))
	ok("with the key", e.Serve(nil, nil))
	_, err = sign.Rotate(path, nil)
	ok("a rotation", err)
	ok("after a rotation", e.Serve(nil, nil))
	ok("away again", os.Remove(path))
	refused("without the new key")
	ok("with --new-key", e.Serve([]string{"--new-key"}, func(h *host.Host) { e.Save(h, "u", "x") }))
	ok("and then", e.Serve(nil, nil))
	e.Run(0, "verify")
}

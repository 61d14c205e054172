package golden_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/transfer"
)

// A kind is a kind of store beside SQLite. It keeps a set of files: those of its
// directory, or those of a backup of its server.
type kind struct {
	create  func(*testing.T) (store posthouse.Store, dump func(*testing.T) map[string][]byte)
	restore func(*testing.T, map[string][]byte) posthouse.Store
}

var kinds = map[string]kind{
	"files":    {createFiles, restoreFiles},
	"nats":     {createNATS, restoreNATS},
	"postgres": {createPostgres, restorePostgres},
	"redis":    {createRedis, restoreRedis},
	"s3":       {createS3, restoreS3},
}

// origin is the store that those of other kinds share their content with, and so their
// answers.
const origin = goldenStore("testdata/d691f92/signed")

// An opening is a golden store and a way to open it.
type opening struct {
	goldenStore
	name string
	open func(*testing.T) posthouse.Store
}

// openings are all golden stores: on SQLite, in memory, and those of other kinds.
func openings(t *testing.T) (all []opening) {
	t.Helper()
	for _, g := range goldenStores(t) {
		all = append(all,
			opening{g, g.name() + "/sqlite", g.sqlite},
			opening{g, g.name() + "/memory", g.memory})
	}
	if testing.Short() {
		return all // TestKindsKeep opens the others
	}
	for _, o := range otherKinds(t) {
		all = append(all, opening{origin, o.name, func(t *testing.T) posthouse.Store {
			store := o.open(t)
			drop(t, store, "beside") // now it has what the origin has
			return store
		}})
	}
	return all
}

// otherKinds are the golden stores of other kinds, as they are.
func otherKinds(t *testing.T) (all []opening) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < len(kinds) {
		t.Fatalf("found %d stores of %d kinds: %s", len(paths), len(kinds), paths)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(path, ".tar.gz")
		k, ok := kinds[filepath.Base(name)]
		if !ok {
			t.Fatalf("%s is of no kind", path)
		}
		all = append(all, opening{origin, goldenStore(name).name(), func(t *testing.T) posthouse.Store {
			return k.restore(t, unpack(t, path))
		}})
	}
	return all
}

const writeEnv = "POSTHOUSE_GOLDEN"

// TestWriteKinds writes the golden stores of other kinds into the directory that the
// environment names, see testdata/README.md.
func TestWriteKinds(t *testing.T) {
	dir := os.Getenv(writeEnv)
	if dir == "" {
		return
	}
	if err := os.Mkdir(dir, 0o755); err != nil { // existing files are never rewritten
		t.Fatal(err)
	}
	for name, k := range kinds {
		t.Run(name, func(t *testing.T) {
			store, dump := k.create(t)
			if _, err := transfer.CopyStore(t.Context(), origin.sqlite(t), store, nil); err != nil {
				t.Fatal(err)
			}
			leave(t, store)
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			pack(t, filepath.Join(dir, name+".tar.gz"), dump(t))
		})
	}
}

var slots = map[posthouse.SlotKey]string{
	{Thread: "trunk", Step: "note"}:                   "a slot of a thread",
	{Thread: posthouse.ProcessThread, Step: "golden"}: "a slot of a process",
}

const large = 40_000 // bytes: above what NATS keeps in its log

// leave does what a copy does not: it appends, removes and writes slots.
func leave(t *testing.T, store posthouse.Store) {
	t.Helper()
	ctx := t.Context()
	l, _ := origin.ledger(t, store)
	for _, thread := range []string{"beside", "gone"} {
		c, err := l.Save(ctx, posthouse.Root(thread, posthouse.State{"n": {Codec: "json", Data: []byte("0")}}), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, large, 100} {
			state := posthouse.State{"text": {Codec: "json", Data: []byte(`"` + strings.Repeat("x", size) + `"`)}}
			c, err = l.Save(ctx, c.Derive(state), nil)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	drop(t, store, "gone")
	for key, text := range slots {
		for _, value := range []string{"first", text} {
			op := posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Value: []byte(value)}
			if _, err := store.Slot(ctx, key, op); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// drop removes a thread and leaves no record of that.
func drop(t *testing.T, store posthouse.Store, thread string) {
	t.Helper()
	removed, err := store.Remove(t.Context(), posthouse.Removal{Thread: thread, All: true})
	if err != nil || removed.Entries == 0 {
		t.Fatalf("removed %+v, %v", removed, err)
	}
}

// TestKindsKeep looks at what only the stores of other kinds have, and lets them check
// themselves.
func TestKindsKeep(t *testing.T) {
	for _, o := range otherKinds(t) {
		t.Run(o.name, func(t *testing.T) {
			store := o.open(t)
			for key, want := range slots {
				got, err := store.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotGet})
				if err != nil || string(got.Value) != want {
					t.Errorf("slot %s of %s has %q, %v", key.Step, key.Thread, got.Value, err)
				}
			}
			l, _ := o.ledger(t, store)
			var sizes []int
			for h, err := range l.List(t.Context(), posthouse.Query{Thread: "beside"}) {
				if err != nil {
					t.Fatal(err)
				}
				c, err := l.Get(t.Context(), h.ID)
				if err != nil {
					t.Fatal(err)
				}
				sizes = append(sizes, len(c.State["text"].Data))
			}
			if want := []int{0, 3, large + 2, 102}; !slices.Equal(sizes, want) {
				t.Errorf("the states have %d bytes, want %d", sizes, want)
			}
			if _, err := l.Latest(t.Context(), ledger.LatestQuery{Thread: "gone"}); !errors.Is(err, posthouse.ErrNotFound) {
				t.Errorf("a deleted thread: %v", err)
			}
			for err := range store.(posthouse.Checker).Check(t.Context()) {
				t.Errorf("Check: %v", err)
			}
		})
	}
}

func pack(t *testing.T, path string, files map[string][]byte) {
	t.Helper()
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(files[name])), Format: tar.FormatPAX})
		if err == nil {
			_, err = w.Write(files[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close(), os.WriteFile(path, packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name], err = io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
	}
}

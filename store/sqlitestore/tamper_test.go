package sqlitestore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// sample makes a database with something in every table.
func sample(t testing.TB, path string) {
	t.Helper()
	s := open(t, path, nil)
	ids := idSource()
	a, b := newLine("alpha", ids), newLine("beta", ids)
	fill(t, s, a, 6, 300)
	commit(t, s, b.foreign("foreign-1", "crew"))
	commit(t, s, b.waiting("gate-"+ids()))
	commit(t, s, b.step([]byte(`"result"`)))
	if _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, s, a, 3, 300)
	if _, err := s.Slot(t.Context(), posthouse.SlotKey{Thread: "alpha", Step: "s"},
		posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("slot")}); err != nil {
		t.Fatal(err)
	}
	verify(t, s, "alpha", 9)
	verify(t, s, "beta", 3)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func commit(t testing.TB, s posthouse.Store, b *posthouse.Batch) {
	t.Helper()
	if err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// TestCheckNamesWhatDiffers changes derived rows without the store.
func TestCheckNamesWhatDiffers(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base.db")
	sample(t, base)
	for _, c := range []struct{ sql, says string }{
		{"UPDATE tails SET state = (SELECT state FROM tails WHERE id = 2) WHERE id = 1", `"alpha"`},
		{"UPDATE tails SET state = x'00' WHERE id = 1", "has 1 bytes"},
		{"UPDATE tails SET seq = seq - 1 WHERE id = 1", `appends to thread "alpha"`},
		{"DELETE FROM tails WHERE id = 1", `thread "alpha" has no tail`},
		{"INSERT INTO tails VALUES (77, 1, x'00')", "thread number 77"},
		{"UPDATE threads SET active = NULL WHERE name = 'beta'", `columns of thread "beta"`},
		{"UPDATE threads SET due = 5 WHERE name = 'alpha'", `columns of thread "alpha"`},
		{"UPDATE threads SET minute = minute - 60000 WHERE name = 'alpha'", `columns of thread "alpha"`},
		{"UPDATE threads SET name = 'gamma' WHERE name = 'alpha'", `"gamma"`},
		{"UPDATE entries SET cid = NULL WHERE thread = 1 AND seq = 2", `thread "alpha"`},
		{"UPDATE entries SET cid = randomblob(16) WHERE thread = 1 AND seq = 2", `entry 2 of thread "alpha"`},
		{"UPDATE entries SET cid = randomblob(16) WHERE thread = 2 AND seq = 3", `entry 3 of thread "beta"`},
		{"UPDATE entries SET seq = 99 WHERE thread = 1 AND seq = 4", `thread "alpha"`},
		{"DELETE FROM entries WHERE thread = 1 AND seq = 5", `thread "alpha"`},
		{"DELETE FROM entries WHERE thread = 1 AND seq = 9", `ends at entry 9, its log at 8`},
		{"UPDATE entries SET thread = 3 WHERE thread = 1 AND seq = 9", "thread number 3"},
		{"UPDATE entries SET head = (SELECT head FROM entries WHERE thread = 1 AND seq = 3) WHERE thread = 1 AND seq = 2", `entry 2 of thread "alpha"`},
		{"UPDATE entries SET head = x'09' WHERE thread = 1 AND seq = 2", `entry 2 of thread "alpha" does not decode`},
		{"DELETE FROM ids WHERE typeof(id) = 'text'", `"foreign-1"`},
		{"DELETE FROM ids WHERE length(id) = 17", `"gate-`},
		{"INSERT INTO ids SELECT 'made-up', id FROM entries LIMIT 1", `"made-up"`},
		{"INSERT INTO ids VALUES ('nowhere', 12345)", "not there"},
		{"UPDATE ids SET entry = 1 WHERE typeof(id) = 'text'", `"foreign-1"`},
		{"DELETE FROM orders WHERE coordination = 0", "index of order keys"},
		{"DELETE FROM orders WHERE coordination <> 0", "index of its coordination"},
		{"INSERT INTO orders SELECT 0, randomblob(16), id FROM entries LIMIT 1", "the index leads from order key"},
		{"UPDATE orders SET coordination = 7 WHERE coordination <> 0", "the index leads from order key"},
		{"DELETE FROM terms WHERE thread = 1", `thread "alpha" is missing from the index of runs`},
		{"UPDATE terms SET term = term + 1 WHERE thread = 2", `thread "beta" is missing from the index of runs`},
		{"INSERT INTO terms VALUES (1, 77, 0)", "thread number 77"},
		{"DELETE FROM packs", "refer to pack"},
		{"DELETE FROM gates", "missing from the index of open gates"},
		{"DELETE FROM gates WHERE list = 1", "missing from the index of open gates"},
		{"UPDATE gates SET thread = 99", "missing from the index of open gates"},
		{"INSERT INTO gates (list, id, thread) VALUES (1, 'gate-x', 1)", `the index of open gates has "gate-x"`},
		{"INSERT INTO packs VALUES (999, x'00')", "pack 999"},
		{"UPDATE threads SET flags = 0; UPDATE tails SET state = zeroblob(16) || substr(state, 22)", "order keys"},
		{"DROP INDEX entries_seq", "entries_seq"},
	} {
		t.Run(c.sql, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "posthouse.db")
			if err := os.WriteFile(path, contents(t, base), 0o600); err != nil {
				t.Fatal(err)
			}
			inspect(t, path, func(db *sqlite.Conn) { script(t, db, c.sql) })
			s, err := sqlitestore.Open(t.Context(), path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			var found []string
			for err := range s.Check(t.Context()) {
				if !errors.Is(err, posthouse.ErrCorrupt) && !errors.Is(err, posthouse.ErrReadOnly) {
					t.Errorf("%v", err)
				}
				found = append(found, err.Error())
			}
			if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, c.says) }) {
				t.Errorf("found %q, want something with %q", found, c.says)
			}
		})
	}
}

// TestEveryFlippedByteIsFound flips single bytes of the file: what is then
// read is what was written, or somebody says that it is not.
func TestEveryFlippedByteIsFound(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base.db")
	sample(t, base)
	bytes := contents(t, base)
	want := answers(t, base)
	if len(want) == 0 || strings.Contains(want, "error") {
		t.Fatalf("the sample says %s", want)
	}
	path := filepath.Join(dir, "posthouse.db")
	tally := damage.Begin(t)
	for at := 0; at < len(bytes); at += stride(len(bytes), 400) {
		b := slices.Clone(bytes)
		b[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		switch got := answers(t, path); {
		case strings.Contains(got, "error"):
			tally.Found("flipped")
		case got != want:
			tally.Served("flipped", "byte %d changed the answers and nobody noticed:\n%s\nwant\n%s", at, got, want)
		default:
			tally.Same("flipped")
		}
		_ = os.Remove(path + "-wal")
		_ = os.Remove(path + "-shm")
	}
}

// answers is all that a store says of what it holds, and the errors it finds.
func answers(t testing.TB, path string) string {
	t.Helper()
	var b strings.Builder
	say := func(err error, format string, args ...any) bool {
		if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
			return false
		}
		fmt.Fprintf(&b, format+"\n", args...)
		return true
	}
	s, err := sqlitestore.Open(t.Context(), path, &sqlitestore.Options{ReadOnly: true})
	if !say(err, "open") {
		return b.String()
	}
	defer func() { _ = s.Close() }()
	for _, thread := range []string{"alpha", "beta"} {
		for e, err := range s.Read(t.Context(), thread, posthouse.Range{}) {
			if say(err, "entry") {
				say(e.Check(), "%s %d %s %q", e.Thread, e.Seq, e.Hash, e.Bodies)
			}
		}
		for h, err := range s.List(t.Context(), posthouse.Query{Thread: thread}) {
			if say(err, "header") {
				_, ferr := s.Find(t.Context(), h.ID)
				say(ferr, "%s %d", h.ID, h.Seq)
			}
		}
	}
	for _, q := range []posthouse.Query{{}, {Coordination: "crew"}, {Coordination: "alpha", Descending: true}} {
		for h, err := range s.List(t.Context(), q) {
			if say(err, "header") {
				say(nil, "%s %s %d", h.ID, h.Thread, h.Seq)
			}
		}
	}
	for _, q := range []posthouse.ThreadQuery{{}, {Waiting: true}, {Runnable: true}} {
		for info, err := range s.Threads(t.Context(), q) {
			if say(err, "thread") {
				say(nil, "%+v", *info)
			}
		}
	}
	for err := range s.Check(t.Context()) {
		say(err, "")
	}
	return b.String()
}

// TestCheckTakesRemovalsForNoDamage: what derived rows are of may be gone.
func TestCheckTakesRemovalsForNoDamage(t *testing.T) {
	s, ids := openStore(t), idSource()
	l := newLine("t", ids)
	fill(t, s, l, 4, 10)
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "t", Below: 5}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the summary keeps lagging
		fill(t, s, l, 1, 10)
		noDifference(t, s)
	}
}

package sqlitestore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestReadingAndWritingWhileCompacting has readers and a writer at work during
// several compactions.
func TestReadingAndWritingWhileCompacting(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), nil)
	ids := idSource()
	l, other := newLine("t", ids), newLine("other", ids)
	fill(t, s, l, 300, 700)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				n := 0
				for e, err := range s.Read(t.Context(), "t", posthouse.Range{}) {
					if err != nil {
						t.Error(err)
						return
					}
					if err := e.Check(); err != nil {
						t.Error(err)
					}
					n++
				}
				if n != 300 {
					t.Errorf("%d entries", n)
				}
			}
		})
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := s.Append(t.Context(), other.node(words(rand.New(rand.NewPCG(1, 1)), 700))); err != nil {
				t.Error(err)
			}
		}
	})
	for range 5 {
		if _, err := s.Compact(t.Context()); err != nil {
			t.Error(err)
		}
	}
	cancel()
	wg.Wait()
	verify(t, s, "t", 300)
	verify(t, s, "other", int(other.info.Tail.Seq))
}

// TestCompactAgain packs what came since, together with what is packed.
func TestCompactAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	l := newLine("t", idSource())
	want := []int{100, 150, 0, 40, 1}
	for i, n := range want {
		fill(t, s, l, n, 600)
		done, err := s.Compact(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d more: %+v", n, done)
		if (n == 0) != (done.Bodies == 0) {
			t.Errorf("compaction %d with %d new bodies rewrote %d", i, n, done.Bodies)
		}
		verify(t, s, "t", int(l.info.Tail.Seq))
	}
	inspect(t, path, func(c *sqlite.Conn) {
		if n := value(t, c, "SELECT count(*) FROM entries WHERE body IS NOT NULL"); n != "0" {
			t.Errorf("%s bodies are not packed", n)
		}
		if n := value(t, c, "SELECT count(*) FROM packs"); n != "3" {
			t.Errorf("%s packs, want 3", n)
		}
	})
}

func TestCompactLeavesWhatDoesNotShrink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	l := newLine("t", idSource())
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 10 {
		noise := make([]byte, 2000)
		for i := range noise {
			noise[i] = byte(rnd.Uint32())
		}
		if err := s.Append(t.Context(), l.node(noise)); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := s.Compact(t.Context()); err != nil || done.Bodies != 0 {
		t.Errorf("done %+v, error %v", done, err)
	}
	// Bodies larger than a pack have one each.
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<17)
	for range 2 {
		if err := s.Append(t.Context(), l.node(big)); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := s.Compact(t.Context()); err != nil || done.After > done.Before/10 {
		t.Errorf("done %+v, error %v", done, err)
	}
	verify(t, s, "t", 12)
}

// TestRemoveFromPacks takes single bodies and ranges out of packs; the rest
// stays, the bytes are gone from the file.
func TestRemoveFromPacks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	ids := idSource()
	l, other := newLine("t", ids), newLine("other", ids)
	secret := func(i int) []byte {
		return append([]byte(fmt.Sprintf("secret-%04d ", i)), bytes.Repeat([]byte("padding "), 50)...)
	}
	for i := 1; i <= 200; i++ {
		if err := s.Append(t.Context(), l.node(secret(i))); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, s, other, 50, 500)
	if _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	verify(t, s, "t", 200) // fills the cache of packs
	done, err := s.Remove(t.Context(), posthouse.Removal{Thread: "t", Bodies: []posthouse.BodyRef{
		{Seq: 7}, {Seq: 7}, {Seq: 130}, {Seq: 131}, {Seq: 131, Record: 5}, {Seq: 999}, {Seq: 3, Record: -1},
	}})
	if err != nil || done.Bodies != 3 || done.Bytes != int64(3*len(secret(1))) {
		t.Fatalf("done %+v, error %v", done, err)
	}
	verify(t, s, "t", 200)
	done, err = s.Remove(t.Context(), posthouse.Removal{Thread: "t", Below: 150})
	if err != nil || done.Entries != 149 || done.Bodies != 146 {
		t.Fatalf("done %+v, error %v", done, err)
	}
	for e, err := range s.Read(t.Context(), "t", posthouse.Range{Limit: 1}) {
		if err != nil || e.Seq != 150 || !bytes.Equal(e.Bodies[0], secret(150)) {
			t.Errorf("the first that is left: %+v %v", e, err)
		}
	}
	noDifference(t, s)
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "t", All: true}); err != nil {
		t.Fatal(err)
	}
	verify(t, s, "other", 50)
	inspect(t, path, func(c *sqlite.Conn) {
		if n := value(t, c, "SELECT count(*) FROM packs"); n != "1" {
			t.Errorf("%s packs are left, want that of the other thread", n)
		}
	})
	// A pack's id is not used again, nor is an entry's.
	before := packID(t, path)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, nil)
	fill(t, s, newLine("new", ids), 50, 500)
	if _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := packID(t, path); after <= before || after <= "3" {
		t.Errorf("the new pack has id %s", after)
	}
}

func packID(t *testing.T, path string) (id string) {
	t.Helper()
	inspect(t, path, func(c *sqlite.Conn) { id = value(t, c, "SELECT max(id) FROM packs") })
	return id
}

func TestRemovedBytesAreOverwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	l := newLine("t", idSource())
	for range 5 {
		if err := s.Append(t.Context(), l.node([]byte("the launch code is 0000"))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "t", Bodies: []posthouse.BodyRef{{Seq: 1}, {Seq: 2}, {Seq: 3}, {Seq: 4}, {Seq: 5}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(contents(t, path), []byte("launch code")) {
		t.Error("removed bytes are in the file")
	}
	verify(t, open(t, path, nil), "t", 5)
}

// TestCompactStops ends with its context, having lost nothing.
func TestCompactStops(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "posthouse.db"), nil)
	l := newLine("t", idSource())
	fill(t, s, l, 300, 700)
	for _, at := range []string{"SELECT id FROM threads", "INSERT INTO packs"} {
		ctx, cancel := context.WithCancel(t.Context())
		if err := s.FailStatement(t.Context(), func(sql string) error {
			if len(sql) >= len(at) && sql[:len(at)] == at {
				cancel()
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if at == "SELECT id FROM threads" {
			cancel()
		}
		if _, err := s.Compact(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at %s: %v", at, err)
		}
		cancel()
	}
	if err := s.FailStatement(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	verify(t, s, "t", 300)
	fill(t, s, l, 1, 100)
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "posthouse.db"), nil)
	ids := idSource()
	l, other := newLine("t", ids), newLine("other", ids)
	fill(t, s, l, 100, 700)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := s.Append(t.Context(), other.node([]byte("x"))); err != nil {
				t.Error(err)
			}
		}
	})
	copies := filepath.Join(dir, "copy.db")
	if err := s.Backup(t.Context(), copies); err != nil {
		t.Fatal(err)
	}
	cancel()
	wg.Wait()
	if err := s.Backup(t.Context(), copies); !errors.Is(err, posthouse.ErrExists) {
		t.Errorf("over a file that is there: %v", err)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "none", "copy.db")); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("into a directory that is not there: %v", err)
	}
	gone, end := context.WithCancel(t.Context())
	end()
	if err := s.Backup(gone, filepath.Join(dir, "late.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	c := open(t, copies, nil)
	verify(t, c, "t", 100)
	fill(t, c, l, 1, 100)
}

// TestKilledBackup leaves nothing under the backup's name, or all of it.
func TestKilledBackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, newLine("t", idSource()), 500, 20_000)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names := func(pattern string) []string {
		found, err := filepath.Glob(path + ".backup" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	killed := 0
	for range 10 {
		cmd, sc := startChild(t, "backup", path)
		if !sc.Scan() {
			t.Fatal("the other process says nothing")
		}
		for len(names("*")) == 0 { // until there is something to leave
			runtime.Gosched()
		}
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
		if len(names("")) == 0 {
			killed++
			continue
		}
		b, err := sqlitestore.Open(t.Context(), path+".backup", nil)
		if err != nil {
			t.Fatal("what is under the backup's name is no store: ", err)
		}
		verify(t, b, "t", 500)
		if err := errors.Join(b.Close(), os.Remove(path+".backup")); err != nil {
			t.Fatal(err)
		}
	}
	if killed == 0 {
		t.Error("no backup was killed on its way: the test says nothing")
	}
	s, err = sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Backup(t.Context(), path+".backup"); err != nil {
		t.Error("after those that were killed:", err)
	}
}

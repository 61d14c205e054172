package sqlitestore_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// TestKilledUnderLoad kills a process that appends from several goroutines, at
// a random moment, again and again on the same database: what it said it had
// acknowledged is there, every chain verifies, every summary is the fold of
// its log.
func TestKilledUnderLoad(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	path := filepath.Join(t.TempDir(), "posthouse.db")
	total := 0
	for round := range rounds(20) {
		if round%25 == 24 { // keep what is verified each time small
			path = filepath.Join(t.TempDir(), "posthouse.db")
		}
		acked := killed(t, "append", path, time.Duration(5+rnd.IntN(250))*time.Millisecond)
		s := open(t, path, nil)
		if lost := missing(t, s, acked); len(lost) > 0 {
			t.Fatalf("seed %d, round %d: acknowledged and lost: %v", seed, round, lost)
		}
		noDifference(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		total += len(acked)
	}
	t.Logf("%d acknowledged entries, none lost", total)
	if total == 0 {
		t.Error("nothing was ever acknowledged")
	}
}

// TestKilledControl is the same with a writer that speaks too early: if it is
// not caught, the test above proves nothing.
func TestKilledControl(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		path := filepath.Join(t.TempDir(), "posthouse.db")
		said := killed(t, "early", path, time.Duration(20+rnd.IntN(60))*time.Millisecond)
		s := open(t, path, nil)
		lost := missing(t, s, said)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if len(lost) > 0 {
			return
		}
	}
	t.Error("a writer that acknowledges before the commit was not caught")
}

// TestKilledInABulk kills a process that appends many entries at once: what it
// acknowledged is there, and no part of a bulk.
func TestKilledInABulk(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 3))
	t.Logf("seed %d", seed)
	for round := range rounds(20) {
		path := filepath.Join(t.TempDir(), "posthouse.db")
		acked := killed(t, "bulk", path, time.Duration(rnd.IntN(150))*time.Millisecond)
		s := open(t, path, nil)
		if lost := missing(t, s, acked); len(lost) > 0 {
			t.Fatalf("seed %d, round %d: acknowledged and lost: %v", seed, round, lost)
		}
		for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
			if err != nil || info.Tail.Seq%bulkSize != 0 {
				t.Errorf("seed %d, round %d: a thread has %d entries, no multiple of %d: %v", seed, round, info.Tail.Seq, bulkSize, err)
			}
		}
		noDifference(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killed runs a child, kills it some time after its first line and returns the
// lines it completed.
func killed(t *testing.T, mode, path string, after time.Duration) (lines []string) {
	t.Helper()
	cmd, out := startChild(t, mode, path)
	var timer *time.Timer
	for out.Scan() {
		if timer == nil {
			timer = time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		lines = append(lines, out.Text())
	}
	_ = cmd.Wait()
	if timer == nil {
		t.Fatal("the child said nothing")
	}
	timer.Stop()
	if n := len(lines); n > 0 && len(strings.Fields(lines[n-1])) == 3 && len(strings.Fields(lines[n-1])[2]) < 64 {
		lines = lines[:n-1] // cut off in the middle
	}
	return lines
}

// missing returns the lines that name an entry which is not there as they say.
func missing(t *testing.T, s *sqlitestore.Store, lines []string) (lost []string) {
	t.Helper()
	have := map[string]bool{}
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		var fold posthouse.ThreadInfo
		for e, err := range s.Read(t.Context(), info.Thread, posthouse.Range{}) {
			err = errors.Join(err, e.Check(), fold.Apply(e))
			if err != nil {
				t.Fatal(err)
			}
			have[fmt.Sprintf("%s %d %s", e.Thread, e.Seq, e.Hash)] = true
		}
		if fold.Tail != info.Tail {
			t.Errorf("thread %s: the log ends at %d, the summary at %d", info.Thread, fold.Tail.Seq, info.Tail.Seq)
		}
	}
	for _, l := range lines {
		if !have[l] {
			lost = append(lost, l)
		}
	}
	return lost
}

// TestKilledWhileCompacting kills a process that compacts, again and again.
func TestKilledWhileCompacting(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 2))
	t.Logf("seed %d", seed)
	dir := t.TempDir()
	path := filepath.Join(dir, "posthouse.db")
	l := newLine("t", idSource())
	for range rounds(20) {
		s := open(t, path, nil)
		fill(t, s, l, 150, 800)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		killed(t, "compact", path, time.Duration(rnd.IntN(60))*time.Millisecond)
		s = open(t, path, nil)
		verify(t, s, "t", int(l.info.Tail.Seq))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

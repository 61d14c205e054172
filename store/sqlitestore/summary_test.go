package sqlitestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestSummaryOfAThreadThatMoves: the stored summary of a running thread may lag
// its log, a summary that is read never does, and that of a thread at rest is
// exact.
func TestSummaryOfAThreadThatMoves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	log := storetest.NewBuilder().Log("alpha")
	live := log.Claim("somebody", 1, false)
	var behind, most uint64
	add := func(items ...storetest.Item) {
		t.Helper()
		b := log.Next(items...)
		commit(t, s, b)
		log.Took(b)
		if got := summaryOf(t, s, "alpha"); got.Tail != log.Info.Tail || got.Checkpoints != log.Info.Checkpoints {
			t.Fatalf("the summary is %+v, want %+v", got, log.Info)
		}
		behind = log.Info.Tail.Seq - storedSeq(t, path)
		most = max(most, behind)
	}
	add(live, log.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "state"))
	for range 100 {
		add(log.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "state"))
	}
	if most == 0 || most >= 16 {
		t.Errorf("the stored summary was up to %d entries behind, want some and fewer than 16", most)
	}
	if behind == 0 {
		t.Fatal("the summary is not behind")
	}
	noDifference(t, s)

	// Readers, and a process after a crash, read the entries that the summary lacks.
	for _, o := range []*sqlitestore.Options{{ReadOnly: true}, nil} {
		p := path
		if o == nil {
			p = filepath.Join(copyFiles(t, path), filepath.Base(path))
		}
		other := open(t, p, o)
		if got := summaryOf(t, other, "alpha"); got.Tail != log.Info.Tail {
			t.Errorf("another process reads a summary of entry %d, want %d", got.Tail.Seq, log.Info.Tail.Seq)
		}
		if o == nil {
			commit(t, other, log.Next(log.Step("s", []byte("1"))))
		}
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}

	// Entries that the summary lacks may go.
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "alpha", Below: log.Info.Tail.Seq - 1}); err != nil {
		t.Fatal(err)
	}
	if got := summaryOf(t, s, "alpha"); got.Tail != log.Info.Tail {
		t.Errorf("after a removal the summary is of entry %d, want %d", got.Tail.Seq, log.Info.Tail.Seq)
	}

	add(log.Step("s", []byte("1")))
	if behind == 0 {
		t.Fatal("the summary is not behind")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := storedSeq(t, path); got != log.Info.Tail.Seq {
		t.Errorf("a closed store has a summary of entry %d, want %d", got, log.Info.Tail.Seq)
	}
	s = open(t, path, nil)
	defer func() { _ = s.Close() }()
	add(log.Checkpoint(posthouse.Header{Status: posthouse.StatusDone}, "state"))
	if behind != 0 {
		t.Errorf("the summary of a thread that rests is %d entries behind", behind)
	}
}

// TestCheckOfASummaryThatLags: only that of a thread that moves may, and not by
// much.
func TestCheckOfASummaryThatLags(t *testing.T) {
	for name, entries := range map[string]int{"by a few entries": 5, "too far": 40} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "posthouse.db")
			s := open(t, path, nil)
			log := storetest.NewBuilder().Log("alpha")
			b := log.Next(log.Claim("somebody", 1, false), log.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "state"))
			commit(t, s, b)
			log.Took(b)
			var was string
			inspect(t, path, func(db *sqlite.Conn) { was = value(t, db, "SELECT hex(state) FROM tails") })
			for range entries {
				b := log.Next(log.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "state"))
				commit(t, s, b)
				log.Took(b)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			inspect(t, path, func(db *sqlite.Conn) { script(t, db, "UPDATE tails SET seq = 1, state = x'"+was+"'") })
			s = open(t, path, nil)
			defer func() { _ = s.Close() }()
			var found []string
			for err := range s.Check(t.Context()) {
				found = append(found, err.Error())
			}
			says := slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, "ends at entry 1, its log at 41") })
			if far := entries > 16; says != far || !far && len(found) > 0 {
				t.Errorf("found %q", found)
			}
		})
	}
}

func summaryOf(t testing.TB, s posthouse.Store, thread string) *posthouse.ThreadInfo {
	t.Helper()
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{Thread: thread}) {
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	t.Fatalf("no thread %q", thread)
	return nil
}

// storedSeq returns the entry that the stored summary of the only thread is of.
func storedSeq(t testing.TB, path string) (seq uint64) {
	t.Helper()
	inspect(t, path, func(db *sqlite.Conn) {
		for _, c := range value(t, db, "SELECT seq FROM tails") {
			seq = seq*10 + uint64(c-'0')
		}
	})
	return seq
}

// TestSummaryThatDoesNotDecode: a damaged summary is made again from the log, and
// does not block the other threads.
func TestSummaryThatDoesNotDecode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "posthouse.db")
	s := open(t, path, nil)
	led, err := ledger.Open(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	save := func(thread string) {
		t.Helper()
		state, err := posthouse.Opaque(nil, thread)
		if err == nil {
			_, err = led.Save(t.Context(), posthouse.Root(thread, state), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, thread := range []string{"alpha", "alpha", "deleted", "released", "released"} {
		save(thread)
	}
	if _, err := retain.DeleteThread(t.Context(), led, "deleted", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := led.Release(t.Context(), "released", nil); err != nil {
		t.Fatal(err)
	}
	save("released")
	if _, err := retain.DropRelease(t.Context(), led, "released", "1", nil); err != nil {
		t.Fatal(err)
	}
	want := summaries(t, s)
	if err := errors.Join(led.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}

	// The last one changes a byte of the checksum to one that it is not.
	const flipped = "CASE hex(substr(state, 18, 1)) WHEN 'FF' THEN x'00' ELSE x'ff' END"
	for _, damage := range []string{"x''", "substr(state, 1, 20)", "CAST(substr(state, 1, 17) || " + flipped + " || substr(state, 19) AS BLOB)"} {
		p := filepath.Join(t.TempDir(), "posthouse.db")
		if err := os.WriteFile(p, contents(t, path), 0o600); err != nil {
			t.Fatal(err)
		}
		inspect(t, p, func(db *sqlite.Conn) { script(t, db, "UPDATE tails SET state = "+damage) })
		s := open(t, p, nil)
		if got := summaries(t, s); !slices.Equal(got, want) {
			t.Errorf("with %s the summaries are\n%q, want\n%q", damage, got, want)
		}
		found := 0
		for err := range s.Check(t.Context()) {
			if strings.Contains(err.Error(), "cannot be read") {
				found++
			} else {
				t.Errorf("check: %v", err)
			}
		}
		if found != len(want) {
			t.Errorf("with %s the check names %d summaries, want %d", damage, found, len(want))
		}
		again, err := ledger.Open(s, nil)
		if err != nil {
			t.Fatal(err)
		}
		led = again
		for _, thread := range []string{"alpha", "deleted", "released"} {
			save(thread)
		}
		noDifference(t, s)
		if err := errors.Join(again.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}

	inspect(t, path, func(db *sqlite.Conn) { script(t, db, "UPDATE tails SET state = x''; DELETE FROM entries") })
	s = open(t, path, nil)
	defer func() { _ = s.Close() }()
	for _, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if !errors.Is(err, posthouse.ErrCorrupt) || !strings.Contains(err.Error(), `"alpha"`) {
			t.Errorf("without a log: %v, want damage that names the thread", err)
		}
	}
}

// TestSummaryThatDoesNotDecodeIsWrittenOver by the next append, and before
// entries go that it is made of, also of a thread that moves.
func TestSummaryThatDoesNotDecodeIsWrittenOver(t *testing.T) {
	for name, act := range map[string]func(s *sqlitestore.Store, log *storetest.Log){
		"append": func(s *sqlitestore.Store, log *storetest.Log) {
			b := log.Next(log.Step("s", []byte("1")))
			commit(t, s, b)
			log.Took(b)
		},
		"remove": func(s *sqlitestore.Store, log *storetest.Log) {
			if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "alpha", Below: 2}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "posthouse.db")
			s := open(t, path, nil)
			log := storetest.NewBuilder().Log("alpha")
			live := log.Claim("somebody", 1, false)
			for range 3 {
				b := log.Next(live, log.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "state"))
				commit(t, s, b)
				log.Took(b)
				live = log.Step("s", []byte("1"))
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			inspect(t, path, func(db *sqlite.Conn) { script(t, db, "UPDATE tails SET state = x''") })
			s = open(t, path, nil)
			act(s, log)
			if got := storedSeq(t, path); got != log.Info.Tail.Seq {
				t.Errorf("the stored summary is of entry %d, want %d", got, log.Info.Tail.Seq)
			}
			noDifference(t, s)
			if got := summaryOf(t, s, "alpha"); got.Tail != log.Info.Tail || got.Checkpoints != log.Info.Checkpoints {
				t.Errorf("the summary is %+v, want %+v", got, log.Info)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// summaries returns what the store says of every thread.
func summaries(t testing.TB, s posthouse.Store) (all []string) {
	t.Helper()
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := info.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return all
}

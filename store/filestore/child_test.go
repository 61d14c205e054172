package filestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/filestore"
	"github.com/posthouse/posthouse/store/storetest"
)

// A test process started with childEnv set, to a directory, appends until it is killed.
const childEnv = "FILESTORE_TEST_CHILD"

// TestChild is what the child runs; it does nothing in this process.
func TestChild(t *testing.T) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		return
	}
	if err := appendForEver(dir); err != nil {
		fmt.Println("failed", err)
	}
}

// appendForEver appends from several goroutines and says so after each acknowledgement.
func appendForEver(dir string) error {
	ctx := context.Background()
	s, err := filestore.Open(ctx, dir, filestore.WithSegment(64<<10))
	if err != nil {
		return err
	}
	const writers = 4
	run := rand.Uint32()
	errs := make(chan error, writers)
	var mu sync.Mutex // of standard output
	for w := range writers {
		go func() {
			b := storetest.NewBuilder()
			for n := 0; ; n++ {
				l := b.Log(fmt.Sprintf("t-%d-%d-%d", run, w, n))
				for i := range 20 {
					batch := l.Next(l.Checkpoint(posthouse.Header{ID: posthouse.ID(fmt.Sprintf("%s.%d", l.Info.Thread, i))}, "state"), l.Step("s", storetest.Filler(50+rand.IntN(3000), "x")))
					if err := s.Append(ctx, batch); err != nil {
						errs <- err
						return
					}
					l.Took(batch)
					mu.Lock()
					fmt.Printf("acknowledged %s %d %s\n", batch.Entry.Thread, batch.Entry.Seq, batch.Entry.Hash)
					mu.Unlock()
				}
				if n%4 == 3 {
					if _, err := s.Remove(ctx, posthouse.Removal{Thread: l.Info.Thread, Bodies: []posthouse.BodyRef{{Seq: 3}}}); err != nil {
						errs <- err
						return
					}
				}
			}
		}()
	}
	return <-errs
}

// TestKilledUnderLoad kills a writing process at random moments, again and again over
// the same store: what it had acknowledged is there, and Check finds nothing.
func TestKilledUnderLoad(t *testing.T) {
	dir := t.TempDir()
	rounds, acknowledged := 12, map[posthouse.Ref]string{}
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for stop := 20 + rand.IntN(300); lines.Scan(); {
			var ref posthouse.Ref
			var hash string
			if _, err := fmt.Sscanf(lines.Text(), "acknowledged %s %d %s", &ref.Thread, &ref.Seq, &hash); err != nil {
				t.Errorf("round %d: the child says %q", round, lines.Text())
				break
			}
			acknowledged[ref] = hash
			if stop--; stop == 0 {
				_ = cmd.Process.Kill() // and read what it said before
			}
		}
		_ = cmd.Wait()
		missing(t, dir, round, acknowledged)
	}
	t.Logf("%d acknowledged entries in %d kills", len(acknowledged), rounds)
}

func missing(t *testing.T, dir string, round int, acknowledged map[posthouse.Ref]string) {
	t.Helper()
	s, err := filestore.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatalf("round %d: %v", round, err)
	}
	defer func() { _ = s.Close() }()
	for err := range s.Check(t.Context()) {
		t.Errorf("round %d: Check: %v", round, err)
	}
	have := map[posthouse.Ref]string{}
	for info, err := range s.Threads(t.Context(), posthouse.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range s.Read(t.Context(), info.Thread, posthouse.Range{}) {
			if err != nil {
				t.Fatal(err)
			}
			have[posthouse.Ref{Thread: e.Thread, Seq: e.Seq}] = e.Hash.String()
		}
	}
	for ref, hash := range acknowledged {
		if have[ref] != hash {
			t.Errorf("round %d: entry %d of %s was acknowledged and is gone", round, ref.Seq, ref.Thread)
		}
	}
}

func open(t testing.TB, dir string, o *filestore.Options) *filestore.Store {
	t.Helper()
	s, err := filestore.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, nil)
	if _, err := filestore.Open(t.Context(), dir, nil); !errors.Is(err, posthouse.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, nil)
}

// TestReaderBesideAWriter opens a store for reading while it is written, drained, removed
// from and closed: the reader shows each as soon as it is acknowledged.
func TestReaderBesideAWriter(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	if _, err := filestore.Open(ctx, dir+"/none", &filestore.Options{ReadOnly: true}); !errors.Is(err, posthouse.ErrNotFound) {
		t.Errorf("where there is nothing: %v", err)
	}
	w := open(t, dir, filestore.WithSegment(4<<10))
	r := open(t, dir, &filestore.Options{ReadOnly: true, Poll: time.Millisecond})
	watched := make(chan string, 1000)
	watching, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		for e, err := range r.Watch(watching, "") {
			if err != nil {
				break
			}
			watched <- fmt.Sprintf("%s %d", e.Thread, e.Seq)
		}
		close(watched)
	})
	b := storetest.NewBuilder()
	logs := []*storetest.Log{b.Log("a"), b.Log("b")}
	key := posthouse.SlotKey{Thread: "a", Step: "s"}
	for i := range 30 {
		for _, l := range logs {
			batch := l.Next(l.Checkpoint(posthouse.Header{}, "state"), l.Step("s", storetest.Filler(300, "x")))
			if err := w.Append(ctx, batch); err != nil {
				t.Fatal(err)
			}
			l.Took(batch)
			ref, err := r.Find(ctx, batch.IDs[0].ID)
			if err != nil || ref.Seq != batch.Entry.Seq {
				t.Fatalf("round %d: %+v %v", i, ref, err)
			}
			n := 0
			for e, err := range r.Read(ctx, l.Info.Thread, posthouse.Range{}) {
				if err == nil {
					err = e.Check()
				}
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != i+1 {
				t.Fatalf("round %d: it reads %d entries", i, n)
			}
		}
		if _, err := w.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: fmt.Append(nil, i), Revision: posthouse.AnyRevision}); err != nil {
			t.Fatal(err)
		}
		if got, err := r.Slot(ctx, key, posthouse.SlotOp{}); err != nil || string(got.Value) != fmt.Sprint(i) {
			t.Fatalf("round %d: slot %q %v", i, got.Value, err)
		}
	}
	for range 60 {
		<-watched
	}
	stop()
	group.Wait()
	afterRemovals(t, w, r, logs[0])
}

// afterRemovals removes from both threads and closes the writer.
func afterRemovals(t *testing.T, w, r *filestore.Store, l *storetest.Log) {
	t.Helper()
	ctx := t.Context()
	if err := r.Append(ctx, l.Next(l.Step("s", nil))); !errors.Is(err, posthouse.ErrReadOnly) {
		t.Errorf("an append of the reader: %v", err)
	}
	if _, err := w.Remove(ctx, posthouse.Removal{Thread: "a", Below: 20}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Remove(ctx, posthouse.Removal{Thread: "b", All: true}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for h, err := range r.List(ctx, posthouse.Query{}) {
		if err != nil || h.Thread != "a" || h.Seq < 20 {
			t.Errorf("it lists %+v %v", h, err)
		}
		n++
	}
	if n != 11 {
		t.Errorf("it lists %d", n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for err := range r.Check(ctx) {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	if err := os.WriteFile(dir+"/notes.txt", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := filestore.Open(ctx, dir, nil); !errors.Is(err, posthouse.ErrCorrupt) {
		t.Errorf("a directory with other files: %v", err)
	}
	if _, err := filestore.Open(ctx, dir+"/notes.txt", nil); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a file: %v", err)
	}
	if _, err := filestore.Open(ctx, "", nil); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("no name: %v", err)
	}
	if _, err := filestore.Open(ctx, dir, &filestore.Options{Poll: -1}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a negative Poll: %v", err)
	}
}

func TestBackup(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := open(t, dir+"/store", nil)
	b := storetest.NewBuilder()
	l := b.Log("a")
	for range 5 {
		batch := l.Next(l.Checkpoint(posthouse.Header{}, "state"))
		if err := s.Append(ctx, batch); err != nil {
			t.Fatal(err)
		}
		l.Took(batch)
	}
	if err := s.Backup(ctx, dir+"/copy"); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(ctx, dir+"/copy"); !errors.Is(err, posthouse.ErrExists) {
		t.Errorf("once more: %v", err)
	}
	c := open(t, dir+"/copy", nil)
	n := 0
	for e, err := range c.Read(ctx, "a", posthouse.Range{}) {
		if err != nil || e.Check() != nil {
			t.Error(err)
		}
		n++
	}
	for err := range c.Check(ctx) {
		t.Error(err)
	}
	if n != 5 {
		t.Errorf("the backup has %d entries", n)
	}
}

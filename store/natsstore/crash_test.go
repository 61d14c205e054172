package natsstore_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/storetest"
)

const (
	childEnv = "POSTHOUSE_NATS_CHILD" // a directory: be the process that writes there
	hasteEnv = "POSTHOUSE_NATS_HASTE" // it says that it has written before it has
)

// child is the process that TestKilled kills: it appends to several threads at once,
// with a server of its own that syncs each write, and prints each entry once it is
// acknowledged.
func child(dir string) {
	ctx := context.Background()
	s, err := natsstore.Open(ctx, "nats:"+dir, nil)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("open")
	b, name := storetest.NewBuilder(), fmt.Sprint("of ", os.Getpid(), " ")
	for i := range 3 {
		go func() {
			l := b.Log(fmt.Sprint(name, i))
			for {
				batch := l.Next(l.Checkpoint(posthouse.Header{ID: posthouse.ID(fmt.Sprintf("%d-%d-%d", os.Getpid(), i, l.Info.Tail.Seq))}, "state"))
				if os.Getenv(hasteEnv) != "" {
					fmt.Printf("took %d %s%d\n", batch.Entry.Seq, name, i)
				}
				if err := s.Append(ctx, batch); err != nil {
					fmt.Println("error", err)
					return
				}
				fmt.Printf("took %d %s%d\n", batch.Entry.Seq, name, i)
				l.Took(batch)
			}
		}()
	}
	select {}
}

// killChild runs a child in dir, kills it after so many lines, and adds to want how far
// each thread was acknowledged.
func killChild(t *testing.T, dir string, lines int, want map[string]uint64, env ...string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(append(os.Environ(), childEnv+"="+dir), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for scan := bufio.NewScanner(out); scan.Scan(); { // to the end: what was said before the signal counts
		var seq uint64
		line := scan.Text()
		if _, err := fmt.Sscanf(line, "took %d", &seq); err != nil {
			if line != "open" {
				t.Errorf("the child says %q", line)
			}
			continue
		}
		_, thread, _ := strings.Cut(line[len("took "):], " ")
		want[thread] = max(want[thread], seq)
		if n++; n == lines {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
}

// lost returns how many acknowledged entries a store lacks.
func lost(t *testing.T, dir string, want map[string]uint64) (n int) {
	t.Helper()
	s, err := natsstore.Open(t.Context(), "nats:"+dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for thread, last := range want {
		es := servertest.Entries(t, s, thread)
		if have := uint64(len(es)); have < last {
			n += int(last - have)
		}
		for _, e := range es {
			if err := e.Check(); err != nil {
				t.Error(err)
			}
		}
	}
	for err := range s.Check(t.Context()) {
		t.Errorf("Check: %v", err)
	}
	return n
}

// TestKilled kills processes that write, one after the other, in one directory. Nothing
// acknowledged is lost. POSTHOUSE_LONG=1 kills a hundred.
func TestKilled(t *testing.T) {
	dir, kills := filepath.Join(t.TempDir(), "store"), 6
	if os.Getenv("POSTHOUSE_LONG") != "" {
		kills = 100
	}
	want, total := map[string]uint64{}, uint64(0)
	for i := range kills {
		killChild(t, dir, 20+17*i%90, want)
		if n := lost(t, dir, want); n > 0 {
			t.Fatalf("kill %d: %d acknowledged entries are lost", i, n)
		}
	}
	for _, n := range want {
		total += n
	}
	t.Logf("%d kills, %d entries", kills, total)
}

// TestKilledInHaste is the control arm of TestKilled: of processes that acknowledge before
// they write, some entries must be lost.
func TestKilledInHaste(t *testing.T) {
	dir, want := filepath.Join(t.TempDir(), "store"), map[string]uint64{}
	for range 30 {
		killChild(t, dir, 20, want, hasteEnv+"=1")
		if lost(t, dir, want) > 0 {
			return
		}
	}
	t.Error("nothing was lost: the test proves nothing")
}

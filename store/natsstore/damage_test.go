package natsstore_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// filled makes a store of a few threads in a directory.
func filled(t *testing.T, dir string) string {
	s := openAt(t, "nats:"+dir, natsstore.Options{}.Lazy())
	b := storetest.NewBuilder()
	for i := range 3 {
		l := b.Log(fmt.Sprint("t", i))
		servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{Run: "r", Labels: map[string]string{"a": "b"}}, "state"), l.Step("s", []byte("result")))
		servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "waits"), l.Gate(b.GateID(), b.Now().Add(time.Hour)))
		if i == 1 {
			servertest.Take(t, s, l, l.Step("large", storetest.Filler(40<<10, "large"))) // an object beside the log
		}
		key := posthouse.SlotKey{Thread: "t1", Step: fmt.Sprint("s", i)}
		if _, err := s.Slot(t.Context(), key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("slot"), Fence: 7}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Remove(t.Context(), posthouse.Removal{Thread: "t2", Bodies: []posthouse.BodyRef{{Seq: 1}}}); err != nil {
		t.Fatal(err)
	}
	text, err := storetest.Dump(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return text
}

// opened returns what a store in a copy of dir says once a file was changed.
func opened(t *testing.T, dir, name string, change func([]byte) []byte) (string, error) {
	room, err := os.MkdirTemp(t.TempDir(), "copy")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(room)
	if err := os.CopyFS(filepath.Join(room, "x"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(room, "x", name)
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := natsstore.Open(t.Context(), "nats:"+filepath.Join(room, "x"), natsstore.Options{Timeout: 3 * time.Second}.Lazy())
	if err != nil {
		return "", err
	}
	defer s.Close()
	return storetest.Dump(t.Context(), s)
}

// TestDamage flips bytes of each file of the server, some hundred or all of them,
// and cuts files off. It is found, or changes nothing of what is read.
func TestDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	want := filled(t, dir)
	tally := damage.Begin(t)
	var group sync.WaitGroup
	room := make(chan struct{}, 16) // most of the time a server is waited for
	n := 0
	try := func(kind, name string, at int, change func([]byte) []byte) {
		if n++; !damage.Mine(n) {
			return
		}
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			switch got, err := opened(t, dir, name, change); {
			case err == nil && got != want:
				tally.Served(kind, "%s at byte %d of %s: served as if nothing had happened", kind, at, name)
			case err == nil:
				tally.Same(kind)
			default:
				tally.Found(kind)
			}
		})
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || name == "lock" || name == "posthouse" {
			return err
		}
		b, err := os.ReadFile(path)
		step := max(1, len(b)/12)
		if strings.Contains(name, "log") && strings.HasSuffix(name, ".blk") {
			step = max(1, len(b)/60)
		}
		step = damage.Step(step)
		for at := 0; at < len(b); at += step {
			try("flipped", name, at, func(b []byte) []byte { b[at] ^= 1 << (at % 8); return b })
		}
		for _, n := range []int{0, len(b) / 2, len(b) - 1} {
			if n >= 0 {
				try("cut off", name, n, func(b []byte) []byte { return b[:n] })
			}
		}
		return err
	})
	group.Wait()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"flipped", "cut off"} {
		if tally.Of(kind).Found == 0 && (kind == "flipped" || os.Getenv(damage.Part) == "") { // a part cuts off few
			t.Errorf("nothing that was %s was found", kind)
		}
	}
}

// TestLaggingCopy reads what only the leader of a stream has yet, large bodies too.
func TestLaggingCopy(t *testing.T) {
	s := openAt(t, startServer(t, t.TempDir()).ClientURL(), nil)
	l := storetest.NewBuilder().Log("a")
	servertest.Take(t, s, l)
	servertest.Take(t, s, l, l.Step("large", make([]byte, 2<<20)))
	s.Behind()
	servertest.WantSound(t, s, "a", 2)
}

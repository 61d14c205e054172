package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
)

const retainerEnv = "POSTHOUSE_E2E_RETAINER" // set to a directory: this process retains, to be killed

// retainPolicy lets go of as much as any policy may.
var retainPolicy = retain.Policy{MaxPerThread: 2, Released: time.Nanosecond, KeepLabels: map[string]string{"keep": ""}}

// TestKillRetention kills a process that writes, releases and applies retention
// without pause, at random points. Every time all chains verify, every
// checkpoint that is listed has the state it was saved with, heads and kept
// labels are there, and the next pass finishes what the killed one began.
func TestKillRetention(t *testing.T) {
	kills := 40
	if testing.Short() {
		kills = 3
	}
	r := rand.New(rand.NewPCG(815, 0))
	dir := t.TempDir()
	makeKey(t, dir)
	var kept []keptOne
	for i := range kills {
		kept = append(kept, retainUntilKilled(t, dir, 1+r.IntN(120))...)
		checkRetained(t, dir, kept)
		if t.Failed() {
			t.Fatalf("at kill %d", i)
		}
	}
	if len(kept) == 0 {
		t.Error("no kept checkpoint was ever acknowledged")
	}
}

// A keptOne is an acknowledged checkpoint that the policy keeps.
type keptOne struct {
	thread, generation string
	id                 posthouse.ID
}

// retainUntilKilled returns the checkpoints that must be kept and were
// acknowledged.
func retainUntilKilled(t *testing.T, dir string, n int) (kept []keptOne) {
	t.Helper()
	killAtLine(t, []string{retainerEnv + "=" + dir}, n, func(line string) {
		if f := strings.Fields(line); len(f) == 5 && f[0] == "kept" && f[4] == "." {
			kept = append(kept, keptOne{f[1], f[2], posthouse.ID(f[3])})
		}
	})
	return kept
}

func checkRetained(t *testing.T, dir string, kept []keptOne) {
	t.Helper()
	ctx := t.Context()
	restarted(t, dir, func(l *ledger.Ledger, verify func()) {
		look := func() {
			t.Helper()
			verify()
			for h, err := range l.List(ctx, posthouse.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				c, err := l.Get(ctx, h.ID)
				if err != nil || !strings.HasPrefix(string(c.State["id"].Data), string(h.ID)) {
					t.Errorf("%s: %v, state %.60q", h.ID, err, c.State["id"].Data)
				}
			}
			for _, k := range kept {
				if _, err := l.GetHeader(ctx, k.id); err != nil && !k.released(ctx, l) {
					t.Errorf("a kept checkpoint of %s: %v", k.thread, err)
				}
			}
		}
		look()
		dry, err := retain.Run(ctx, l, retainPolicy, &retain.Options{DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		done, err := retain.Run(ctx, l, retainPolicy, nil)
		dry.DryRun = false
		if err != nil || !reflect.DeepEqual(dry, done) {
			t.Errorf("the dry run said %+v, the next pass took %+v, %v", *dry, *done, err)
		}
		if again, err := retain.Run(ctx, l, retainPolicy, nil); err != nil || again.Checkpoints != 0 || again.Bytes != 0 {
			t.Errorf("after the next pass there is still %+v to take, %v", again, err)
		}
		look()
	})
}

// released reports whether the checkpoint's generation is a version by now,
// which may be gone as a whole.
func (k keptOne) released(ctx context.Context, l *ledger.Ledger) bool {
	_, err := ledger.FindRelease(ctx, l, k.thread, k.generation)
	return err == nil
}

const retainThreads = 3

// retainer writes, releases and retains until it is killed.
func retainer(dir string) error {
	ctx := context.Background()
	_, l, err := openSigned(ctx, dir)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		thread := fmt.Sprint("t", n%retainThreads)
		for i := range 4 {
			id := l.Core().NewID()
			state := string(id) + strings.Repeat(" padding", rand.IntN(200))
			c := &posthouse.Change{ID: id, Parts: []posthouse.Part{{Name: "id", Codec: "raw", Data: []byte(state)}}}
			if i == 2 && n%5 == 0 {
				c.Labels = map[string]string{"keep": "yes"}
			}
			done, err := l.Commit(ctx, &ledger.Draft{Thread: thread, Checkpoint: c})
			if err != nil {
				return err
			}
			if c.Labels != nil {
				fmt.Printf("kept %s %d %s .\n", thread, done.Checkpoint.Generation, id)
			}
		}
		if n%7 == 6 {
			if _, err := l.Release(ctx, thread, nil); err != nil {
				return err
			}
		}
		fmt.Println("filled")
		if _, err := retain.Run(ctx, l, retainPolicy, &retain.Options{Progress: func(*retain.Report) { fmt.Println("thread") }}); err != nil {
			return err
		}
	}
}

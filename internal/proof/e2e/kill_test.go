package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

const (
	writerEnv = "POSTHOUSE_E2E_WRITER" // set to a directory: this process is a writer to be killed
	hastyEnv  = "POSTHOUSE_E2E_HASTY"  // it acknowledges before it commits
)

// TestKill kills a writer under load at 200 random points. Whatever it
// acknowledged must be there afterwards, and every chain must verify.
func TestKill(t *testing.T) {
	kills := 200
	if testing.Short() {
		kills = 5
	}
	lost := killOften(t, kills, false)
	for _, l := range lost {
		t.Errorf("acknowledged and lost: %s", l)
	}
}

// TestKillCatchesHaste is the control: a writer that acknowledges before the
// commit must be found out, or TestKill proves nothing.
func TestKillCatchesHaste(t *testing.T) {
	if testing.Short() {
		t.Skip("TestKill is not whole either")
	}
	if lost := killOften(t, 20, true); len(lost) == 0 {
		t.Error("20 kills of a writer that acknowledges first, and nothing was lost: the test cannot see what it is for")
	}
}

// killOften returns what was acknowledged and is not there.
func killOften(t *testing.T, kills int, hasty bool) (lost []string) {
	t.Helper()
	const perStore = 10
	const seed = 4711
	r := rand.New(rand.NewPCG(seed, 0))
	dir, acked, total := "", []string(nil), 0
	for i := range kills {
		if i%perStore == 0 {
			dir, acked = t.TempDir(), nil
			makeKey(t, dir)
		}
		fresh := killOnce(t, dir, hasty, 1+r.IntN(400))
		acked, total = append(acked, fresh...), total+len(fresh)
		lost = append(lost, missing(t, dir, acked)...)
		if t.Failed() {
			t.Fatalf("at kill %d of seed %d", i, seed)
		}
	}
	t.Logf("%d kills, %d acknowledgements, %d lost", kills, total, len(lost))
	return lost
}

func makeKey(t *testing.T, dir string) {
	t.Helper()
	if _, err := sign.LoadOrCreate(filepath.Join(dir, "signing.key")); err != nil {
		t.Fatal(err)
	}
}

// killOnce runs a writer, kills it at its n-th acknowledgement, and returns all
// that it got out.
func killOnce(t *testing.T, dir string, hasty bool, n int) (acked []string) {
	t.Helper()
	env := []string{writerEnv + "=" + dir}
	if hasty {
		env = append(env, hastyEnv+"=1")
	}
	killAtLine(t, env, n, func(line string) { acked = append(acked, line) })
	if last := acked[len(acked)-1]; !strings.HasSuffix(last, ".") {
		acked = acked[:len(acked)-1] // cut short by the kill
	}
	return acked
}

// killAtLine runs this binary with env, hands each line of its output to note,
// and kills it at the n-th; note also sees what it got out until it was dead.
func killAtLine(t *testing.T, env []string, n int, note func(string)) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(environment(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	sc, lines := bufio.NewScanner(out), 0
	for sc.Scan() {
		note(sc.Text())
		if lines++; lines == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if lines < n {
		t.Fatalf("the process ended after %d lines: %v", lines, cmd.Wait())
	}
	_ = cmd.Wait() // says that it was killed
}

// openSigned opens the store of a data directory and a Ledger that signs.
func openSigned(ctx context.Context, dir string) (store posthouse.Store, l *ledger.Ledger, err error) {
	key, err := sign.Load(filepath.Join(dir, "signing.key"))
	if err != nil {
		return nil, nil, err
	}
	store, err = sqlitestore.Open(ctx, filepath.Join(dir, "posthouse.db"), nil)
	if err != nil {
		return nil, nil, err
	}
	l, err = ledger.Open(store, &ledger.Options{Signer: key})
	return store, l, err
}

// restarted opens a store as a restart would, lets do look at it, and closes
// it. Each call of verify checks every chain.
func restarted(t *testing.T, dir string, do func(l *ledger.Ledger, verify func())) {
	t.Helper()
	store, l, err := openSigned(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(l.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	}()
	ring, err := sign.LoadRing(filepath.Join(dir, "signing.key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	do(l, func() {
		t.Helper()
		report, err := sign.Verify(t.Context(), store, ring, &sign.VerifyOptions{RequireSigned: true})
		if err != nil || !report.OK() {
			t.Fatalf("verify: %v, %+v", err, report)
		}
	})
}

// missing opens the store as a restart would, verifies it, and returns the
// acknowledgements that it does not bear out.
func missing(t *testing.T, dir string, acked []string) (lost []string) {
	t.Helper()
	restarted(t, dir, func(l *ledger.Ledger, verify func()) {
		verify()
		for _, line := range acked {
			if err := bornOut(t.Context(), l, strings.TrimSuffix(line, ".")); err != nil {
				lost = append(lost, fmt.Sprintf("%s (%v)", line, err))
			}
		}
	})
	return lost
}

// bornOut checks one acknowledgement: "checkpoint ID", "gate ID" or "decided ID".
func bornOut(ctx context.Context, l *ledger.Ledger, line string) error {
	what, id, _ := strings.Cut(line, " ")
	if what == "checkpoint" {
		c, err := l.Get(ctx, posthouse.ID(id))
		if err == nil && string(c.State[posthouse.OpaquePart].Data) != id {
			err = fmt.Errorf("has the state %q", c.State[posthouse.OpaquePart].Data)
		}
		return err
	}
	g, err := l.Gate(ctx, posthouse.ID(id))
	if err == nil && what == "decided" && (g.Decision == nil || g.Decision.By != "writer") {
		err = fmt.Errorf("has the decision %v", g.Decision)
	}
	return err
}

// writer commits from eight goroutines at once until it is killed, and says so
// line by line. It is the body of the child process.
func writer(dir string, hasty bool) {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, "writer:", err)
		os.Exit(1)
	}
	ctx := context.Background()
	_, l, err := openSigned(ctx, dir)
	if err != nil {
		fail(err)
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			thread := fmt.Sprintf("thread-%d", w)
			for i := 0; ; i++ {
				if err := writeOne(ctx, l, thread, i, hasty); err != nil {
					fail(err)
				}
			}
		})
	}
	wg.Wait()
}

func writeOne(ctx context.Context, l *ledger.Ledger, thread string, i int, hasty bool) error {
	say := func(what string, id posthouse.ID) {
		_, _ = os.Stdout.WriteString(what + " " + string(id) + ".\n") // the reader is gone only when this process is, too
	}
	id := l.Core().NewID()
	d := &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
		ID: id, Kind: posthouse.KindSave,
		State: posthouse.State{posthouse.OpaquePart: {Codec: "raw", Data: []byte(id)}},
	}}
	asks := i%5 == 0
	if asks {
		d.Checkpoint.Status, d.Checkpoint.Next = posthouse.StatusWaiting, []string{"n"}
		d.Gates = []posthouse.Gate{{Name: "go-on", Payload: json.RawMessage(`{"n":1}`)}}
	}
	if hasty {
		say("checkpoint", id)
	}
	c, err := l.Commit(ctx, d)
	if err != nil {
		return err
	}
	if hasty {
		return nil
	}
	say("checkpoint", id)
	if !asks {
		return nil
	}
	say("gate", c.Gates[0].ID)
	if _, err := l.Decide(ctx, c.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "writer"}); err != nil {
		return err
	}
	say("decided", c.Gates[0].ID)
	return nil
}

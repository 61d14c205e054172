package golden_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/pgstore"
)

// openerEnv makes this binary a process that opens the store of its URL and uses it.
const openerEnv = "POSTHOUSE_GOLDEN_OPENER"

// openAndUse is that process.
func openAndUse(url string) error {
	ctx := context.Background()
	store, err := pgstore.Open(ctx, url, &pgstore.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	defer store.Close()
	for key, want := range slots {
		slot, err := store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
		if err != nil || string(slot.Value) != want {
			return fmt.Errorf("slot %s of %s has %q: %w", key.Step, key.Thread, slot.Value, err)
		}
	}
	key := posthouse.SlotKey{Thread: posthouse.ProcessThread, Step: fmt.Sprint("process ", os.Getpid())}
	_, err = store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: []byte("here")})
	return err
}

// TestOlderPostgresOpenedByMany has ten processes open a store of an earlier schema at once.
// The one that migrates is killed in the middle, and some of those that wait for it. Of the
// others one migrates, the rest find it done, and all that the store held is there.
func TestOlderPostgresOpenedByMany(t *testing.T) {
	const processes, killed = 10, 4
	url := database(t)
	execute(t, url, string(unpack(t, "testdata/59bdff0/postgres.tar.gz")["dump.sql"]))
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	version := func() (n int) {
		t.Helper()
		if err := c.QueryRow(t.Context(), "SELECT version FROM posthouse.meta").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	older := version()

	// Whoever migrates changes table slots, and waits there for this transaction.
	holds, err := c.Begin(t.Context())
	if err == nil {
		_, err = holds.Exec(t.Context(), "LOCK TABLE posthouse.slots IN ACCESS EXCLUSIVE MODE")
	}
	if err != nil {
		t.Fatal(err)
	}
	openers := make([]*exec.Cmd, processes)
	out := make([]bytes.Buffer, processes)
	for i := range openers {
		openers[i] = exec.CommandContext(t.Context(), os.Args[0])
		openers[i].Env = append(os.Environ(), fmt.Sprintf("%s=%s&application_name=opener-%d", openerEnv, url, i))
		openers[i].Stdout, openers[i].Stderr = &out[i], &out[i]
		if err := openers[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	migrator, waiting := waitsFor(t, url)
	for len(waiting) < processes-1 {
		migrator, waiting = waitsFor(t, url)
	}
	dead := map[int]bool{migrator: true}
	for _, i := range waiting[:killed-1] {
		dead[i] = true
	}
	for i := range dead {
		if err := openers[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if now := version(); now != older {
		t.Errorf("version %d while the migration waits, want %d", now, older)
	}
	if err := holds.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i, p := range openers {
		wg.Go(func() {
			if err := p.Wait(); (err != nil) != dead[i] {
				t.Errorf("process %d (killed: %v): %v\n%s", i, dead[i], err, &out[i])
			}
		})
	}
	wg.Wait()

	store := opened[*pgstore.Store](t)(pgstore.Open(t.Context(), url, nil))
	if now := version(); now <= older {
		t.Errorf("version %d afterwards, it was %d", now, older)
	}
	for err := range store.Check(t.Context()) {
		t.Errorf("Check: %v", err)
	}
	used := 0
	for slot, err := range store.Slots(t.Context(), posthouse.ProcessThread) {
		if err != nil {
			t.Fatal(err)
		}
		if string(slot.Value) == "here" {
			used++
		}
	}
	if used != processes-killed {
		t.Errorf("%d processes used the store, want %d", used, processes-killed)
	}
}

// waitsFor returns which opener waits within a migration, -1 if no opener does, and which
// wait for it.
func waitsFor(t *testing.T, url string) (migrator int, waiting []int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	rows, err := c.Query(t.Context(), `SELECT application_name, wait_event FROM pg_stat_activity
		WHERE datname = current_database() AND application_name LIKE 'opener-%' AND wait_event_type = 'Lock'`)
	if err != nil {
		t.Fatal(err)
	}
	migrator = -1
	var name, event string
	_, err = pgx.ForEachRow(rows, []any{&name, &event}, func() error {
		var i int
		_, err := fmt.Sscanf(name, "opener-%d", &i)
		if event == "relation" {
			migrator = i
		} else {
			waiting = append(waiting, i)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-t.Context().Done():
		t.Fatal("the openers do not come to wait")
	case <-time.After(20 * time.Millisecond): // until it is asked again
	}
	return migrator, waiting
}

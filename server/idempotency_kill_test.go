//go:build unix

package server

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A killingStore kills its process where it would put a second thing of requests on record: the act
// is done then, and its answer is not.
type killingStore struct {
	posthouse.Store
	writes int
}

func (s *killingStore) Slot(ctx context.Context, k posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	if k.Thread == "$requests" && op.Verb != posthouse.SlotGet {
		if s.writes++; s.writes == 2 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	return s.Store.Slot(ctx, k, op)
}

const killedEnv = "POSTHOUSE_TEST_KILLED" // of the process that is killed: the store's directory

// TestKilledBetweenActAndAnswer kills a server by SIGKILL once a run is on record, before it could
// put the answer there. Another one over the store answers the same request with that run.
func TestKilledBetweenActAndAnswer(t *testing.T) {
	h := open(t, nil)
	start := ask{method: "POST", path: "/api/programs/pack/runs", body: `{"input":{"order":"1","count":9007199254740993}}`, header: []string{"Idempotency-Key: k"}}
	over := func(dir string, wrap func(posthouse.Store) posthouse.Store, now func() time.Time) *testServer {
		store, err := sqlitestore.Open(t.Context(), filepath.Join(dir, "store.db"), nil)
		must.Do(t, err)
		t.Cleanup(func() { must.Do(t, store.Close()) })
		return h.another(wrap(store), now)
	}
	if dir := os.Getenv(killedEnv); dir != "" {
		over(dir, func(s posthouse.Store) posthouse.Store { return &killingStore{Store: s} }, time.Now).direct(start)
		t.Fatal("it was not killed")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledBetweenActAndAnswer$")
	cmd.Env = append(os.Environ(), killedEnv+"="+dir)
	out, err := cmd.CombinedOutput()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || !ws.Signaled() || ws.Signal() != syscall.SIGKILL {
		t.Fatalf("the server ended with %v: %s", err, out)
	}
	next := over(dir, func(s posthouse.Store) posthouse.Store { return s }, func() time.Time { return time.Now().Add(31 * time.Second) })
	var runs []string
	for info, err := range next.ledger.Threads(t.Context(), posthouse.ThreadQuery{}) {
		must.Do(t, err)
		runs = append(runs, info.Thread)
	}
	if len(runs) != 1 {
		t.Fatalf("on record are the runs %v, want one", runs)
	}
	var got struct{ Thread string }
	a := next.direct(start).want(http.StatusCreated)
	if a.into(&got); got.Thread != runs[0] || a.header.Get(api.ReplayedHeader) != "true" {
		t.Errorf("answered with %+v, want the run %s", got, runs[0])
	}
	next.direct(start).same(t, a)
	head, err := next.ledger.Latest(t.Context(), ledger.LatestQuery{Thread: runs[0]})
	if err != nil || string(head.State["input"].Data) != `{"order":"1","count":9007199254740993}` {
		t.Errorf("the run is %+v, %v", head, err)
	}
}

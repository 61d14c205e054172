package runner_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/store/memstore"
)

type parcel struct{ By []string }

// A deployed version of a graph runs in a process of its own.
type deployed struct {
	l    *ledger.Ledger
	app  *graph.App[parcel]
	log  lockedLog
	stop func() error
}

type lockedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

// lines returns how many lines of a level there are.
func (l *lockedLog) lines(level string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), "level="+level)
}

// deploy starts a version of one graph: it asks in one node and goes on with two others.
// No other version knows their names.
func deploy(t *testing.T, store posthouse.Store, version string) *deployed {
	t.Helper()
	d := &deployed{l: open(t, store, version)}
	g := graph.New[parcel]("parcel")
	g.Node("ask-"+version, func(ctx context.Context, p *parcel) error {
		_, err := gate.Ask[struct{}](ctx, gate.Question{Name: "send", Text: "Send it?"})
		return err
	})
	for _, name := range []string{"pack-", "send-"} {
		g.Node(name+version, func(_ context.Context, p *parcel) error { p.By = append(p.By, version); return nil })
	}
	g.Edge(graph.Start, "ask-"+version)
	g.Edge("ask-"+version, "pack-"+version)
	g.Edge("pack-"+version, "send-"+version)
	g.Edge("send-"+version, graph.End)
	var err error
	d.app, err = g.Compile(d.l, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, d.stop = run(t, d.l, runner.Options{
		Programs: []posthouse.Program{d.app}, Logger: slog.New(slog.NewTextHandler(&d.log, nil)),
	})
	return d
}

// TestRollingDeploy has an old and a new version of a graph, which do not fit each other's
// threads, over one store at once. Each thread ends with the version that began it, whoever
// hears of a decision first. That is no error: each process says once what it leaves.
func TestRollingDeploy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		begin := func(d *deployed, version string) {
			for i := range 10 {
				if res, err := d.app.Run(t.Context(), fmt.Sprint(version, "-", i), parcel{}); err != nil || len(res.Waiting) != 1 {
					t.Fatalf("result %+v, error %v", res, err)
				}
			}
		}
		before := deploy(t, store, "old")
		begin(before, "old")
		after := deploy(t, store, "new")
		begin(after, "new")
		sleep(time.Minute)
		for g, err := range after.l.Gates(t.Context(), ledger.GateQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			approve(t, after.l, g.ID)
		}
		sleep(10 * time.Minute)
		for version, d := range map[string]*deployed{"old": before, "new": after} {
			for i := range 10 {
				s, err := d.app.State(t.Context(), fmt.Sprint(version, "-", i))
				if err != nil || s.Status != posthouse.StatusDone || fmt.Sprint(s.State.By) != fmt.Sprint([]string{version, version}) {
					t.Errorf("%s %d: %+v, %v", version, i, s, err)
				}
			}
			if e, w, i := d.log.lines("ERROR"), d.log.lines("WARN"), d.log.lines("INFO"); e != 0 || w != 0 || i > 1 {
				t.Errorf("%s logs %d errors, %d warnings and %d lines:\n%s", version, e, w, i, d.log.buf.String())
			}
		}
	})
}

// TestTheLastProcessOfAVersion: threads that no process can go on with wait where they are,
// and go on once one of their version is there again.
func TestTheLastProcessOfAVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		before := deploy(t, store, "old")
		if _, err := before.app.Run(t.Context(), "t", parcel{}); err != nil {
			t.Fatal(err)
		}
		if err := before.stop(); err != nil {
			t.Fatal(err)
		}
		after := deploy(t, store, "new")
		approve(t, after.l, gates(t, after.l, "t")[0])
		tail := func() uint64 {
			info, err := after.l.Thread(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			return info.Tail.Seq
		}
		was := tail()
		sleep(time.Hour)
		if s := status(t, after.l, "t"); s != posthouse.StatusReady || tail() != was || after.log.lines("INFO") != 1 || after.log.lines("ERROR") != 0 {
			t.Errorf("it is %s, and %d entries were written:\n%s", s, tail()-was, after.log.buf.String())
		}
		deploy(t, store, "old")
		sleep(10 * time.Second)
		if s := status(t, after.l, "t"); s != posthouse.StatusDone {
			t.Errorf("it is %s", s)
		}
	})
}

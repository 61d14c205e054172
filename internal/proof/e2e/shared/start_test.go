//go:build unix

package shared

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runner"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/all"
	"github.com/posthouse/posthouse/store/memstore"
)

// A desk is one process over a store, with a flow that counts in a step how often it ran.
type desk struct {
	led  *ledger.Ledger
	flow *flow.App[string, string]
}

// TestRunsStartAtTheirTime begins a run that starts tomorrow, and ends the process. The next process
// starts it when the time has come; of two over one server one does. It runs once.
func TestRunsStartAtTheirTime(t *testing.T) {
	memory := memstore.New()
	file := "sqlite:" + filepath.Join(t.TempDir(), "posthouse.db")
	for name, x := range map[string]struct {
		open  func() (posthouse.Store, error)
		hosts []string // those that run after the restart
		keeps bool     // the store is the same, and stays open
	}{
		"memory":   {func() (posthouse.Store, error) { return memory, nil }, []string{"b"}, true},
		"sqlite":   {func() (posthouse.Store, error) { return all.Open(t.Context(), file, nil) }, []string{"b"}, false},
		"postgres": {func() (posthouse.Store, error) { return all.Open(t.Context(), pgtest.URL(t), nil) }, []string{"b", "c"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var now atomic.Int64
			now.Store(time.Now().UnixNano())
			var ran atomic.Int32
			open := func(owner string) (*desk, func()) {
				store := must.Get(x.open())(t)
				l := must.Get(ledger.Open(store, &ledger.Options{Owner: owner, Now: func() time.Time { return time.Unix(0, now.Load()) }}))(t)
				f := must.Get(flow.New("report", func(ctx context.Context, _ string) (string, error) {
					_, err := step.Do(ctx, "work", func(context.Context) (int32, error) { return ran.Add(1), nil })
					return owner, err
				}).Open(l, nil))(t)
				return &desk{l, f}, func() {
					must.Do(t, l.Close())
					if !x.keeps {
						must.Do(t, store.Close())
					}
				}
			}
			const thread = "report-1"
			at := time.Unix(0, now.Load()).Add(24 * time.Hour)
			first, end := open("a")
			must.Get(first.flow.StartJSON(t.Context(), thread, []byte(`"x"`), &posthouse.StartOptions{StartAt: at}))(t)
			end()
			now.Store(at.UnixNano() - 1)
			var desks []*desk
			for _, host := range x.hosts {
				d, end := open(host)
				defer end()
				must.Do(t, d.flow.Advance(t.Context(), thread, ""))
				desks = append(desks, d)
			}
			info := must.Get(desks[0].led.Thread(t.Context(), thread))(t)
			if info.Status != posthouse.StatusWaiting || ran.Load() != 0 || len(info.Waiting) != 1 || info.Waiting[0].ExpiresAt.Before(at) {
				t.Fatalf("before its time it is %s, waits for %+v and ran %d times", info.Status, info.Waiting, ran.Load())
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			for _, d := range desks {
				r := must.Get(runner.New(d.led, &runner.Options{Programs: []posthouse.Program{d.flow}, Poll: 20 * time.Millisecond}))(t)
				go func() { ended <- r.Run(ctx) }()
			}
			now.Store(at.Add(time.Millisecond).UnixNano())
			s := must.Get(desks[0].flow.Wait(t.Context(), thread))(t)
			cancel()
			for range desks {
				must.Do(t, <-ended)
			}
			if s.Status != posthouse.StatusDone || ran.Load() != 1 {
				t.Errorf("it is %s and ran %d times", s.Status, ran.Load())
			}
			decisions := 0
			for e, err := range desks[0].led.Log(t.Context(), thread, posthouse.Range{}) {
				must.Do(t, err)
				for i := range e.Records {
					if e.Records[i].Decision != nil {
						decisions++
					}
				}
			}
			if decisions != 1 {
				t.Errorf("the wait was ended %d times", decisions)
			}
		})
	}
}

package cases_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// A house is a store, a Ledger on it and a clock. restart is the end of one process and
// the beginning of the next.
type house struct {
	*testing.T
	open  func() posthouse.Store // nil: the store outlives its process
	store posthouse.Store
	led   *ledger.Ledger
	now   time.Time
}

// onStores runs a test in memory, on a SQLite file, and on Postgres where it is installed.
func onStores(t *testing.T, check func(h *house)) {
	ctx := context.Background()
	t.Run("memory", func(t *testing.T) { newHouse(t, memstore.New(), nil, check) })
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "p.db")
		newHouse(t, nil, func() posthouse.Store {
			return must.Get[posthouse.Store](sqlitestore.Open(ctx, path, &sqlitestore.Options{Sync: sqlitestore.SyncNormal}))(t)
		}, check)
	})
	if pgtest.Installed() {
		t.Run("postgres", func(t *testing.T) {
			url, schema := pgtest.URL(t), fmt.Sprintf("case%d", time.Now().UnixNano())
			newHouse(t, nil, func() posthouse.Store {
				return must.Get[posthouse.Store](pgstore.Open(ctx, url, &pgstore.Options{Schema: schema}))(t)
			}, check)
		})
	}
}

func newHouse(t *testing.T, s posthouse.Store, open func() posthouse.Store, check func(h *house)) {
	h := &house{T: t, open: open, store: s, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	h.restart()
	t.Cleanup(func() { h.led.Close(); h.store.Close() })
	check(h)
}

func (h *house) restart() {
	h.Helper()
	if h.led != nil {
		h.led.Close()
	}
	if h.open != nil {
		if h.store != nil {
			h.store.Close()
		}
		h.store = h.open()
	}
	h.led = must.Get(ledger.Open(h.store, &ledger.Options{
		Owner: "me", LeaseTTL: time.Second, Validate: gate.Validator(), Now: func() time.Time { return h.now },
	}))(h)
}

func (h *house) want(what string, got, want any) {
	h.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		h.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// people are the open questions to people, by thread and name.
func (h *house) people() (out []*posthouse.Gate) {
	h.Helper()
	for g, err := range h.led.Gates(h.Context(), ledger.GateQuery{}) {
		out = append(out, must.Get(g, err)(h))
	}
	slices.SortFunc(out, func(a, b *posthouse.Gate) int { return strings.Compare(a.Thread+a.Name, b.Thread+b.Name) })
	return out
}

func (h *house) approve(id posthouse.ID) {
	h.Helper()
	must.Get(h.led.Decide(h.Context(), id, posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}))(h)
}

// decideAll has people approve all that is open, and the next process go on.
func (h *house) decideAll() {
	h.Helper()
	for _, g := range h.people() {
		h.approve(g.ID)
	}
	h.restart()
}

// An order is the state of the graphs here.
type order struct {
	Log  []string `posthouse:"append"`
	Memo string
}

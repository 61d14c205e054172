package server

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/store/memstore"
)

// A damagedStore changes a byte of what it hands out of one thread.
type damagedStore struct {
	*memstore.Store
	thread atomic.Pointer[string]
}

func (s *damagedStore) spoil(es iter.Seq2[*posthouse.Entry, error]) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for e, err := range es {
			if name := s.thread.Load(); err == nil && name != nil && e.Thread == *name && len(e.Bodies) > 0 {
				e.Bodies[0] = append(slices.Clone(e.Bodies[0]), 'x')
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (s *damagedStore) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return s.spoil(s.Store.Read(ctx, thread, r))
}

func (s *damagedStore) Watch(ctx context.Context, cursor string) iter.Seq2[*posthouse.Entry, error] {
	return s.spoil(s.Store.Watch(ctx, cursor))
}

// damaged has the options' ledger read from a store that can be damaged.
func damaged(t *testing.T, o *Options) *damagedStore {
	t.Helper()
	store := &damagedStore{Store: o.Ledger.Store().(*memstore.Store)}
	l, err := ledger.Open(store, nil)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, l.Close()) })
	o.Ledger = l
	return store
}

// TestDamageIsToldOfOneItem: lists and the stream of events say which item cannot
// be read, and have the others.
func TestDamageIsToldOfOneItem(t *testing.T) {
	var store *damagedStore
	h := open(t, func(o *Options) { store = damaged(t, o) })
	for _, thread := range []string{"a", "b", "c"} {
		h.waiting(thread)
	}
	bad := "b"
	store.thread.Store(&bad)

	var gates []Gate
	h.get("/api/gates").into(&gates)
	var states []Checkpoint
	h.get("/api/checkpoints").into(&states)
	if len(gates) != 3 || len(states) != 3 {
		t.Fatalf("%d gates and %d checkpoints, want 3 of each", len(gates), len(states))
	}
	for i, g := range gates {
		c := states[i]
		if g.Thread != c.Thread || g.ID == "" || c.ID == "" {
			t.Errorf("gate %q of %q beside checkpoint %q of %q", g.ID, g.Thread, c.ID, c.Thread)
		}
		if damaged := g.Thread == bad; damaged != (g.Error != nil) || damaged != (c.Problem != nil) || damaged == (g.Text != "") || damaged == (len(c.State) > 0) {
			t.Errorf("thread %q: gate %+v, checkpoint %+v", g.Thread, g, c)
		} else if damaged && (g.Error.Code != posthouse.CodeCorrupt || c.Problem.Code != posthouse.CodeCorrupt) {
			t.Errorf("the problems are %+v and %+v", g.Error, c.Problem)
		}
	}
	h.get("/api/gates/" + string(gates[1].ID)).refused(posthouse.CodeCorrupt)

	var seen []string
	after := ""
	f := h.listen(ask{path: "/api/events?after=start"})
	for len(seen) < 5 {
		e, err := f.next()
		must.Do(t, err)
		seen = append(seen, e.event)
		if e.event == "error" {
			if !strings.Contains(e.data, `"corrupt"`) || e.id == "" {
				t.Errorf("the error event is %+v", e)
			}
			after = e.id
		}
	}
	if want := []string{"checkpoint", "gate", "error", "checkpoint", "gate"}; !slices.Equal(seen, want) {
		t.Errorf("events %q, want %q", seen, want)
	}
	f = h.listen(ask{path: "/api/events", header: []string{"Last-Event-ID: " + after}})
	if e, err := f.next(); err != nil || e.event != "checkpoint" || !strings.Contains(e.data, `"c"`) {
		t.Errorf("behind the damage: %+v, %v", e, err)
	}
}

// TestSessionAtADamagedGate: where a client is, its session says also while the
// gate there cannot be read.
func TestSessionAtADamagedGate(t *testing.T) {
	var store *damagedStore
	h := open(t, func(o *Options) { store = damaged(t, o) })
	_, g := h.waiting("b")
	store.thread.Store(&g.Thread)
	var i session.SessionInfo
	h.send(ask{method: "PUT", path: "/api/session", body: `{"thread":"b"}`}).want(http.StatusOK).into(&i)
	if i.Gate != g.ID || i.Status != posthouse.StatusWaiting {
		t.Errorf("it is told %+v, want gate %s", i, g.ID)
	}
	if again := h.session(tokens.Operator, i.Token); again.Gate != g.ID {
		t.Errorf("the second time %+v", again)
	}
	f := h.listen(ask{path: "/api/events?session=" + i.Token})
	f.want("session")
	f.close()
}

// TestDamagedApproval is listed with what is wrong, beside the others.
func TestDamagedApproval(t *testing.T) {
	var store *damagedStore
	h := open(t, func(o *Options) { store = damaged(t, o) })
	var ids []posthouse.ID
	for _, thread := range []string{"apr-1", "apr-2"} {
		c, err := h.ledger.Commit(t.Context(), &ledger.Draft{
			Thread:     thread,
			Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusWaiting},
			Gates:      []posthouse.Gate{{Name: "pay", Kind: posthouse.GateSession, ExpiresAt: h.ledger.Now().Add(time.Minute)}},
		})
		must.Do(t, err)
		ids = append(ids, c.Gates[0].ID)
	}
	bad := "apr-1"
	store.thread.Store(&bad)
	var list []Gate
	h.get("/api/approvals").want(http.StatusOK).into(&list)
	if len(list) != 2 || list[0].ID != ids[0] || list[0].Error == nil || list[0].Error.Code != posthouse.CodeCorrupt ||
		list[1].ID != ids[1] || list[1].Error != nil || list[1].Name != "pay" {
		t.Errorf("what waits: %+v", list)
	}
}

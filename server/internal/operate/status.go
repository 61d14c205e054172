package operate

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// The size of a store is asked for seldom: a directory may have many files.
const describeEvery = 15 * time.Second

// A Status is /api/status. Make it with [NewStatus].
type Status struct {
	watched *Watched
	started time.Time

	mu        sync.Mutex
	store     StoreStatus
	described time.Time // zero: it was not yet
}

// NewStatus returns the resource.
func NewStatus(w *Watched) *Status { return &Status{watched: w, started: w.Now()} }

// A StatusOf says what goes on in a process, and what its store is.
type StatusOf struct {
	At             time.Time   `json:"at" doc:"of these figures"`
	StartedAt      time.Time   `json:"startedAt" doc:"when the process began"`
	Commits        uint64      `json:"commits" doc:"entries that it appended since then; two answers make a rate"`
	Leases         int         `json:"leases" doc:"threads that it runs now"`
	Streams        int         `json:"streams" doc:"event streams, WebSockets and waiting claims of workers that are open"`
	UnknownEffects int         `json:"unknownEffects" doc:"open questions about an effect with an unknown outcome; 1000: there may be more"`
	Store          StoreStatus `json:"store" doc:"what it writes to, looked at at most each 15 seconds"`
}

// A StoreStatus says what a store is.
type StoreStatus struct {
	Kind    string   `json:"kind" doc:"as in SQLite"`
	Promise string   `json:"promise" doc:"when a write is acknowledged, and what it then outlives"`
	Bytes   int64    `json:"bytes,omitempty" doc:"that it takes on its disk or server; absent: not known"`
	Weak    []string `json:"weak,omitempty" doc:"by what it may lose acknowledged writes, for people"`
}

// Routes are the lines of the table.
func (s *Status) Routes() []*api.Route {
	return []*api.Route{{
		Method: http.MethodGet, Path: "/api/status", Role: tokens.Viewer, Summary: "What goes on here?", Handle: api.Show(s.get),
		Notes:   "Figures of the process that answers, and what its store is and promises. GET /metrics has more of them, for Prometheus.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "the figures", Body: StatusOf{}, Media: ""}},
	}}
}

// mostUnknown bounds the count of unknown effects.
const mostUnknown = 1000

func (s *Status) get(r *api.Request) (*StatusOf, error) {
	w := s.watched
	store, err := s.describe(r.Context())
	if err != nil {
		return nil, err
	}
	of := &StatusOf{
		At: w.Now().UTC(), StartedAt: s.started.UTC(), Commits: w.Counts.Commits(), Leases: w.Ledger.Core().Leases().Held, Streams: w.Streams.Held(), Store: store,
	}
	for g, err := range w.Ledger.Gates(r.Context(), ledger.GateQuery{Kind: posthouse.GateOutcome, Limit: mostUnknown}) {
		if g == nil {
			return nil, err
		}
		of.UnknownEffects++ // one that cannot be read is open, too
	}
	return of, nil
}

// describe returns what the store is, as it was at most 15 seconds ago.
func (s *Status) describe(ctx context.Context) (StoreStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.watched.Now()
	if !s.described.IsZero() && now.Sub(s.described) < describeEvery {
		return s.store, nil
	}
	store := s.watched.Ledger.Store()
	of := StoreStatus{Kind: "a store of the program's own", Promise: "it does not say"}
	if d, ok := store.(posthouse.Informer); ok {
		var err error
		of.Kind, of.Promise, of.Bytes, err = d.Info(ctx)
		if err != nil {
			return of, err
		}
	}
	if weak, ok := store.(posthouse.Weaker); ok {
		var err error
		of.Weak, err = weak.Weak(ctx)
		if err != nil {
			return of, err
		}
	}
	s.store, s.described = of, now
	return of, nil
}

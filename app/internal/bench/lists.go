package bench

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/overview"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// shown is how many threads a list shows, and how many match each of its filters.
const shown = 50

// listings is how many lists of one kind a round makes.
const listings = 20

// crowd writes n threads of one checkpoint, 1,000 a minute. Each has a label of its own; 50 share a
// customer, and 50 failed.
func (s *session) crowd(store posthouse.Store, n int) error {
	const writers = 64
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	groups := max(n/shown, 1)
	s.opt.Progress(s.current, fmt.Sprintf("writing %d threads", n))
	return together(writers, func(w int) error {
		for i := w; i < n; i += writers {
			status := posthouse.StatusDone
			if i%groups == groups/2 {
				status = posthouse.StatusFailed
			}
			h := &posthouse.Header{
				Thread: fmt.Sprintf("order-%06d", i), Branch: posthouse.MainBranch, Kind: posthouse.KindInput, Status: status, Graph: "refund",
				Labels: map[string]string{"customer": customer(i % groups), "invoice": fmt.Sprintf("i%06d", i)},
			}
			h.Order = orderKey(i)
			h.ID = h.Order.ID()
			e, info := posthouse.Seal(&posthouse.ThreadInfo{Thread: h.Thread}, begin.Add(time.Duration(i/1000)*time.Minute), []posthouse.Record{{Kind: posthouse.RecordCheckpoint, Checkpoint: h}}, [][]byte{nil})
			b := &posthouse.Batch{Entry: e, Thread: info, IDs: []posthouse.IndexedID{{ID: h.ID, Order: h.Order, Header: h}}}
			if err := store.Append(s.ctx, b); err != nil {
				return err
			}
		}
		return nil
	})
}

// orderKey returns the i-th version 7 UUID.
func orderKey(i int) (k posthouse.OrderKey) {
	binary.BigEndian.PutUint64(k[:], uint64(1_700_000_000_000+i)<<16)
	k[6], k[8] = 0x70, 0x80
	return k
}

func customer(i int) string { return fmt.Sprintf("c%06d gmbh", i) }

// lists measures the lists of threads that people look at.
func lists(s *session) error {
	err := s.listsOf("memory", 2, func() (posthouse.Store, func() error, error) {
		store := memstore.New()
		return store, store.Close, nil
	})
	return cmp.Or(err, s.listsOf("SQLite", 2, func() (posthouse.Store, func() error, error) {
		store, err := sqlitestore.Open(s.ctx, s.path("lists"), &sqlitestore.Options{Sync: sqlitestore.SyncNormal})
		if err != nil {
			return nil, nil, err
		}
		return store, store.Close, nil
	}))
}

// serverLists is lists on a server.
func serverLists(s *session) error {
	limit := 2.0
	if scheme, _, _ := strings.Cut(s.opt.Server.URL, ":"); strings.HasPrefix(scheme, "redis") {
		limit = 0 // it reads all summaries
	}
	return s.listsOf("server", limit, func() (posthouse.Store, func() error, error) {
		name := s.path("lists")
		store, err := s.opt.Server.Make(s.ctx, name)
		if err != nil {
			return nil, nil, err
		}
		return store, func() error {
			return errors.Join(store.Close(), s.opt.Server.Drop(context.WithoutCancel(s.ctx), name))
		}, nil
	})
}

// listsOf measures one store. With a limit of 0 the figures have no limit.
func (s *session) listsOf(where string, limit float64, open func() (posthouse.Store, func() error, error)) (err error) {
	var few, many *ledger.Ledger
	sizes := [2]int{s.n(1000), s.n(100_000)}
	for i, to := range []**ledger.Ledger{&few, &many} {
		store, done, bad := open()
		if bad != nil {
			return bad
		}
		defer func() { err = errors.Join(err, done()) }()
		if err := s.crowd(store, sizes[i]); err != nil {
			return err
		}
		*to, bad = ledger.Open(store, nil)
		if bad != nil {
			return bad
		}
		l := *to
		defer func() { err = errors.Join(err, l.Close()) }()
	}
	for _, list := range []struct {
		name  string
		query posthouse.ThreadQuery
	}{
		{"activity", posthouse.ThreadQuery{}},
		{"status", posthouse.ThreadQuery{Status: posthouse.StatusFailed}},
		{"label", posthouse.ThreadQuery{Label: "customer", LabelValue: customer(0)}},
		{"text", posthouse.ThreadQuery{Text: customer(0)[:7]}},
	} {
		list.query.Newest, list.query.Limit = true, shown
		read := func(l *ledger.Ledger, n int) (measure, error) {
			return s.clock(listings, func() error {
				for range listings {
					var page []*posthouse.ThreadInfo
					for t, err := range l.Threads(s.ctx, list.query) {
						if err != nil {
							return err
						}
						page = append(page, t)
					}
					if _, err := overview.Faces(s.ctx, l, page); err != nil {
						return err
					}
					if got := len(page); got == 0 || n > 2*shown && got != shown {
						return expect(got, shown)
					}
				}
				return nil
			})
		}
		all, err := s.interleave(
			side{fmt.Sprintf("%s, %s, of %d", where, list.name, sizes[0]), func() (measure, error) { return read(few, sizes[0]) }},
			side{fmt.Sprintf("%s, %s, of %d", where, list.name, sizes[1]), func() (measure, error) { return read(many, sizes[1]) }},
		)
		if err != nil {
			return err
		}
		micros := func(m *measure) float64 { return float64(m.wall.Nanoseconds()) / 1e3 / listings }
		large, small := median(all[1], micros), median(all[0], micros)
		if limit == 0 {
			s.note(where+" by "+list.name, "µs", large, small)
			continue
		}
		s.atMost(where+" by "+list.name, "µs", large, small, ratio(all[1], all[0], micros), limit)
	}
	return nil
}

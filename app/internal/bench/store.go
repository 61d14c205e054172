package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/baseline"
)

// A baseliner is a store that has a bare client of its server to compare with. The
// client writes a row durably, and may be called until ctx ends.
type baseliner interface {
	Baseline(ctx context.Context) (func(ctx context.Context, thread, seq int64, data []byte) error, error)
}

// limits are the least shares of the bare client's steps, by the scheme of an address: of
// one writer and of 1,000.
var limits = map[string][2]float64{
	"postgres": {0.5, 0.3}, "postgresql": {0.5, 0.3}, "file": {0.7, 0.3}, "nats": {0.35}, "tls": {0.35}, "redis": {0.5}, "rediss": {0.5}, "sqlite": {0, 0.35},
}

func (s *session) limits() [2]float64 {
	scheme, _, _ := strings.Cut(strings.TrimSpace(s.opt.Server.URL), ":")
	return limits[strings.ToLower(scheme)]
}

// pageText is a state of about 1 KB.
var pageText = strings.Repeat("x", 1000)

// writer is one thread of steps.
func writer(s *session) error {
	n := s.n(500)
	return s.against(n, s.limits()[0], func(write write) error {
		for i := range n {
			if err := write(s.ctx, 1, int64(i+1), []byte(pageText)); err != nil {
				return err
			}
		}
		return nil
	}, func(app *graph.App[small]) error {
		_, err := app.Run(s.ctx, "one", small{Text: pageText})
		return err
	}, n, func(n int) string { return fmt.Sprintf("%06d %s", n, pageText) })
}

// writers is [threads] on a server.
func writers(s *session) error {
	const each = 10
	n := s.n(1000)
	return s.against(n*each, s.limits()[1], func(write write) error {
		return together(n, func(t int) error {
			for i := range each {
				if err := write(s.ctx, int64(t), int64(i+1), []byte(smallFill)); err != nil {
					return err
				}
			}
			return nil
		})
	}, func(app *graph.App[small]) error {
		return together(n, func(t int) error {
			_, err := app.Run(s.ctx, fmt.Sprintf("thread-%d", t), small{Text: smallText(0)})
			return err
		})
	}, each, smallText)
}

type write = func(ctx context.Context, thread, seq int64, data []byte) error

// against compares rows written by the bare client with steps of a graph that loops each
// times over a text.
func (s *session) against(steps int, limit float64, raw func(write) error, run func(*graph.App[small]) error, each int, text func(int) string) error {
	compile := loop(each, func(_ context.Context, v *small) error {
		v.Count++
		v.Text = text(v.Count)
		return nil
	}, func(v *small) bool { return v.Count < each })
	all, err := s.interleave(
		side{"baseline", func() (measure, error) { return s.bare(steps, raw) }},
		side{"posthouse", func() (m measure, err error) {
			name := s.path("posthouse")
			defer func() { err = errors.Join(err, s.opt.Server.Drop(context.WithoutCancel(s.ctx), name)) }()
			open := func() (*engine, error) {
				store, err := s.opt.Server.Make(s.ctx, name)
				if err != nil {
					return nil, err
				}
				return s.engine(&engine{store: store}, true)
			}
			return timed(s, open, compile, steps, run)
		}},
	)
	if err != nil {
		return err
	}
	base, ours := all[0], all[1]
	s.atLeast("steps", "steps/s", median(ours, (*measure).rate), median(base, (*measure).rate), ratio(ours, base, (*measure).rate), limit)
	s.cost(ours, base)
	return nil
}

// bare measures rows written by the bare client.
func (s *session) bare(steps int, work func(write) error) (m measure, err error) {
	name := s.path("baseline")
	store, err := s.opt.Server.Make(s.ctx, name)
	if err != nil {
		return m, err
	}
	defer func() {
		err = errors.Join(err, store.Close(), s.opt.Server.Drop(context.WithoutCancel(s.ctx), name))
	}()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	to, done, err := s.baselineOf(ctx, store, name)
	if err != nil {
		return m, err
	}
	m, err = s.clock(steps, func() error { return work(to) })
	return m, errors.Join(err, done())
}

// baselineOf returns the bare client of a store's server. That of SQLite has a file of its
// own.
func (s *session) baselineOf(ctx context.Context, store posthouse.Store, name string) (write, func() error, error) {
	if b, ok := store.(baseliner); ok {
		to, err := b.Baseline(ctx)
		return to, func() error { return nil }, err
	}
	_, dir, err := s.opt.Server.At(name)
	if err != nil || dir == "" {
		return nil, nil, errors.Join(err, &posthouse.Error{Code: posthouse.CodeUnsupported, Message: "there is nothing to compare this store with", Hint: "name a store of files or of a server"})
	}
	db, err := baseline.Open(filepath.Join(dir, "baseline.db"))
	if err != nil {
		return nil, nil, err
	}
	return db.Append, db.Close, nil
}

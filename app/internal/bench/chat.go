package bench

import (
	"context"
	"encoding/json"
	"time"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/baseline"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// A message is 1,024 bytes of JSON.
type message struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

type talk struct {
	Messages []message `posthouse:"append"`
}

const messageSize = 1024

// messages makes n of them, and their size in all.
func messages(n int) (all []message, payload int64, err error) {
	w := newWords(7)
	empty, err := json.Marshal(message{Role: "agent"})
	if err != nil {
		return nil, 0, err
	}
	for range n {
		all = append(all, message{"agent", w.text(messageSize - len(empty))})
	}
	return all, int64(n) * messageSize, nil
}

// chatOnce measures a graph of one node that appends the next message. byStep has
// each message made by step.Do.
func (s *session) chatOnce(messages []message, byStep bool) (measure, error) {
	n := len(messages)
	times, last := make([]time.Duration, 0, n), time.Time{}
	chat := loop(n, func(ctx context.Context, t *talk) (err error) {
		at := s.opt.Now()
		if len(t.Messages) > 0 {
			times = append(times, at.Sub(last))
		}
		last = at
		m := messages[len(t.Messages)]
		if byStep {
			m, err = step.Do(ctx, "llm", func(context.Context) (message, error) { return m, nil })
			if err != nil {
				return err
			}
		}
		t.Messages = append(t.Messages, m)
		return nil
	}, func(t *talk) bool { return len(t.Messages) < n })
	m, err := timed(s, s.sqlite, chat, n, func(app *graph.App[talk]) error {
		_, err := app.Run(s.ctx, "chat", talk{})
		return err
	})
	m.times = times
	return m, err
}

func (s *session) rawChat(all []message) side {
	return side{"baseline", func() (measure, error) {
		return s.raw(len(all), func(db *baseline.DB) error {
			for i, m := range all {
				data, err := json.Marshal(m)
				if err != nil {
					return err
				}
				if err := db.Append(s.ctx, 1, int64(i+1), data); err != nil {
					return err
				}
			}
			return nil
		})
	}}
}

// chat is W2.
func chat(s *session) error {
	msgs, payload, err := messages(s.n(500))
	if err != nil {
		return err
	}
	all, err := s.interleave(s.rawChat(msgs), side{"posthouse", func() (measure, error) { return s.chatOnce(msgs, false) }})
	if err != nil {
		return err
	}
	base, ours := all[0], all[1]
	s.atLeast("steps", "steps/s", median(ours, (*measure).rate), median(base, (*measure).rate), ratio(ours, base, (*measure).rate), 0.7)
	late := median(ours, func(m *measure) float64 { return micros(m.times, 0.9, 1) })
	early := median(ours, func(m *measure) float64 { return micros(m.times, 0.1, 0.2) })
	s.atMost("p50 of the last tenth over the second", "µs/step", late, early, late/early, 1.25)
	s.sizes(ours, base, payload, 1.5)
	return s.compacted(msgs, payload)
}

// micros is the median of the steps from one share of the run to another.
func micros(ts []time.Duration, from, to float64) float64 {
	n := float64(len(ts))
	return median(ts[int(n*from):int(n*to)], func(d *time.Duration) float64 { return d.Seconds() * 1e6 })
}

func (s *session) sizes(ours, base []measure, payload int64, limit float64) {
	size := func(m *measure) float64 { return float64(m.bytes) }
	mb := func(ms []measure) float64 { return median(ms, size) / 1e6 }
	s.atMost("database over payload", "MB", mb(ours), mb(base), median(ours, size)/float64(payload), limit)
}

// compacted runs the chat once more and compacts.
func (s *session) compacted(messages []message, payload int64) error {
	if _, err := s.chatOnce(messages, false); err != nil {
		return err
	}
	path := s.newest("posthouse")
	store, err := sqlitestore.Open(s.ctx, path, nil)
	if err != nil {
		return err
	}
	s.opt.Progress(s.current, "compacting")
	if _, err := store.Compact(s.ctx); err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	size, err := fileSize(path)
	if err != nil {
		return err
	}
	s.atMost("after compaction", "MB", float64(size)/1e6, 0, float64(size)/float64(payload), 0.8)
	return nil
}

// chatStep is the chat with each message a recorded step.
func chatStep(s *session) error {
	msgs, payload, err := messages(s.n(500))
	if err != nil {
		return err
	}
	all, err := s.interleave(s.rawChat(msgs), side{"posthouse", func() (measure, error) {
		return s.chatOnce(msgs, true)
	}})
	if err != nil {
		return err
	}
	s.note("steps, two entries each", "steps/s", median(all[1], (*measure).rate), median(all[0], (*measure).rate))
	s.sizes(all[1], all[0], payload, 1.8)
	return nil
}

// growth measures whether the size grows linearly.
func growth(s *session) error {
	var sizes []float64
	for _, n := range []int{500, 2000} {
		msgs, _, err := messages(s.n(n))
		if err != nil {
			return err
		}
		s.opt.Progress(s.current, "posthouse")
		m, err := s.chatOnce(msgs, false)
		if err != nil {
			return err
		}
		sizes = append(sizes, float64(m.bytes))
	}
	s.atMost("bytes of 2,000 over 500", "MB", sizes[1]/1e6, sizes[0]/1e6, sizes[1]/sizes[0], 4.3)
	return nil
}

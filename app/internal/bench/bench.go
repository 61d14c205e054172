package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/scratch"
)

// Options configure [Run]. Nil is the zero value.
type Options struct {
	Only     []string                     // names of workloads; empty: all
	Rounds   int                          // of baseline and engine, interleaved; default 7
	Dir      string                       // where databases are made; default the system's temporary directory
	Scale    int                          // divides the number of steps, for a quick look with rough figures; default 1
	Cipher   posthouse.Cipher             // seals what the engine stores; nil: nothing does
	Progress func(workload, doing string) // told what is going on

	// Server is where the workloads of a store run instead, each round in a namespace of
	// its own. Nil: SQLite and memory on this machine.
	Server *scratch.Server
	Now    func() time.Time // default time.Now

	// Serve runs the workloads of the product as it is served, on this machine. Duration is how long the
	// one runs that looks at memory; default 30 s.
	Serve    bool
	Duration time.Duration
}

// A Figure is one thing that was measured.
type Figure struct {
	Workload string  `json:"workload"`
	Name     string  `json:"name"`
	Ours     float64 `json:"ours"`
	Baseline float64 `json:"baseline,omitempty"`
	Unit     string  `json:"unit"`  // of Ours and Baseline
	Value    float64 `json:"value"` // what the limit is on: a ratio, or Ours itself
	Limit    float64 `json:"limit,omitempty"`
	AtLeast  bool    `json:"atLeast,omitempty"` // the limit is a lower one
	OK       bool    `json:"ok"`

	Counted bool     `json:"counted,omitempty"` // not timed: the same on a busy machine
	Earlier *float64 `json:"earlier,omitempty"` // Value in the run that [Compare] was given
}

// A workload is one kind of work; run adds its figures to the session.
type workload struct {
	name  string
	about string
	run   func(*session) error
}

func workloads() []workload {
	return []workload{
		{"w1", "1,000 steps of a 200-byte state in one thread, SQLite FULL, signed", steps},
		{"memory", "the same in memory, by CPU time", memory},
		{"w3", "1,000 threads of 10 steps at once, SQLite FULL", threads},
		{"chat", "500 steps that each append a message of 1 KB", chat},
		{"chatstep", "the same chat, each message made by step.Do", chatStep},
		{"growth", "2,000 steps of the chat against 500", growth},
		{"turns", "400 turns: 1,600 checkpoints, 1,200 messages, a constant text of 20 KB", turns},
		{"latest", "open the store and read the latest state, of 100 and of 100,000 checkpoints", latest},
		{"headers", "1,000 headers of a history", headers},
		{"lists", "50 of 100,000 threads against 50 of 1,000: by activity, status, label and text, in memory and SQLite", lists},
		{"nodes", "1,000 nodes that make no checkpoint, against bare calls through an interface with a map write", nodes},
		{"fanout", "10,000 sends to a task against 1,000, in memory", fanout},
		{"state", "steps that change 100 bytes of a state of 500 KB against one of 5 KB, in memory", state},
	}
}

// storeWorkloads are those of Options.Server.
func storeWorkloads() []workload {
	return []workload{
		{"writer", "500 steps of a state of 1 KB in one thread, signed", writer},
		{"writers", "1,000 threads of 10 steps at once", writers},
		{"threads", "50 of 100,000 threads against 50 of 1,000: by activity, status, label and text", serverLists},
	}
}

func (o *Options) workloads() []workload {
	switch {
	case o != nil && o.Server != nil:
		return storeWorkloads()
	case o != nil && o.Serve:
		return serviceWorkloads()
	}
	return workloads()
}

// Names returns the workloads with what each is about, in the order they run.
func Names() (names, about []string) {
	for _, w := range slices.Concat(workloads(), storeWorkloads(), serviceWorkloads()) {
		names, about = append(names, w.name), append(about, w.about)
	}
	return names, about
}

// Run measures. An error means that something did not work, not that it was
// slow: what missed its limit is a Figure that is not OK.
func Run(ctx context.Context, o *Options) ([]Figure, error) {
	s, err := newSession(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, w := range s.opt.workloads() {
		if len(s.opt.Only) > 0 && !slices.Contains(s.opt.Only, w.name) {
			continue
		}
		if err := s.one(w); err != nil {
			return s.figures, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return s.figures, nil
}

// A session is one Run.
type session struct {
	ctx     context.Context
	opt     Options
	dir     string // of the current workload
	current string
	dirs    int
	figures []Figure
}

func newSession(ctx context.Context, o *Options) (*session, error) {
	s := &session{ctx: ctx}
	if o != nil {
		s.opt = *o
	}
	s.opt.Rounds, s.opt.Scale = cmp.Or(s.opt.Rounds, 7), cmp.Or(s.opt.Scale, 1)
	if s.opt.Now == nil {
		s.opt.Now = time.Now
	}
	if s.opt.Progress == nil {
		s.opt.Progress = func(string, string) {}
	}
	var names []string
	for _, w := range s.opt.workloads() {
		names = append(names, w.name)
	}
	for _, n := range s.opt.Only {
		if !slices.Contains(names, n) {
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "only", Message: fmt.Sprintf("names %q, which is no workload", n),
				Hint: "known are " + strings.Join(names, ", "),
			}
		}
	}
	if s.opt.Rounds < 1 || s.opt.Scale < 1 {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "rounds", Message: "must be at least 1"}
	}
	return s, nil
}

func (s *session) one(w workload) (err error) {
	s.current = w.name
	s.dir, err = os.MkdirTemp(s.opt.Dir, "posthouse-bench-")
	if err != nil {
		return err
	}
	defer func() {
		if e := os.RemoveAll(s.dir); err == nil {
			err = e
		}
	}()
	return w.run(s)
}

// path returns a new file's name.
func (s *session) path(name string) string {
	s.dirs++
	return s.newest(name)
}

// newest returns the name that path gave out last.
func (s *session) newest(name string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%d-%s.db", s.dirs, name))
}

// n scales a number of steps.
func (s *session) n(steps int) int { return max(steps/s.opt.Scale, 2) }

// A side is one of the two that are compared.
type side struct {
	name string
	run  func() (measure, error)
}

// interleave runs the sides in turns and returns the measures of each by round. The
// order is swapped each round, and a first round of each is thrown away.
func (s *session) interleave(sides ...side) ([][]measure, error) {
	all := make([][]measure, len(sides))
	for round := -1; round < s.opt.Rounds; round++ {
		for i := range sides {
			if round%2 != 0 {
				i = len(sides) - 1 - i
			}
			if err := s.ctx.Err(); err != nil {
				return nil, err
			}
			s.opt.Progress(s.current, fmt.Sprintf("%s, round %d of %d", sides[i].name, max(round, 0)+1, s.opt.Rounds))
			m, err := sides[i].run()
			if err != nil {
				return nil, err
			}
			if round >= 0 {
				all[i] = append(all[i], m)
			}
		}
	}
	return all, nil
}

// atLeast adds a figure that must not be below the limit.
func (s *session) atLeast(name, unit string, ours, base, value, limit float64) {
	s.figures = append(s.figures, Figure{
		Workload: s.current, Name: name, Ours: ours, Baseline: base, Unit: unit, Value: value, Limit: limit, AtLeast: true, OK: value >= limit,
	})
}

// atMost adds a figure that must not be above the limit.
func (s *session) atMost(name, unit string, ours, base, value, limit float64) {
	s.figures = append(s.figures, Figure{
		Workload: s.current, Name: name, Ours: ours, Baseline: base, Unit: unit, Value: value, Limit: limit, OK: value <= limit,
	})
}

// note adds a figure without a limit.
func (s *session) note(name, unit string, ours, base float64) {
	s.figures = append(s.figures, Figure{Workload: s.current, Name: name, Ours: ours, Baseline: base, Unit: unit, Value: ours, OK: true})
}

// count adds a figure without a limit that was counted.
func (s *session) count(name, unit string, ours, base float64) {
	s.note(name, unit, ours, base)
	s.figures[len(s.figures)-1].Counted = true
}

package bench

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/ledger"
)

func cpuNanos(m *measure) float64 { return float64(m.cpu.Nanoseconds()) / float64(m.steps) }

// A bareNode is the yardstick of a node: a call through an interface and one
// write to a map.
type bareNode interface{ run(m map[string]int) }

type bareCount struct{ n int }

func (c *bareCount) run(m map[string]int) { c.n++; m["count"] = c.n }

// nodes measures what a node that makes no checkpoint costs besides itself.
func nodes(s *session) error {
	const runs, calls = 100, 5_000_000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that idle collectors on other cores are not counted
	n := s.n(1000)
	var c bareNode = &bareCount{}
	counting := loop(n, func(_ context.Context, s *small) error { s.Count++; return nil }, func(s *small) bool { return s.Count < n })
	var allocs float64
	all, err := s.interleave(
		side{"bare calls", func() (measure, error) {
			m := map[string]int{}
			return s.clock(s.n(calls), func() error {
				for range s.n(calls) {
					c.run(m)
				}
				return nil
			})
		}},
		side{"posthouse", func() (measure, error) {
			return timed(s, s.unsigned, counting, n*runs, func(app *graph.App[small]) error {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for i := range runs {
					if _, err := app.Run(s.ctx, fmt.Sprint("run-", i), small{Text: smallText(0)}, graph.RunOptions{Durability: graph.Exit}); err != nil {
						return err
					}
				}
				runtime.ReadMemStats(&after)
				allocs = float64(after.Mallocs-before.Mallocs) / float64(n*runs)
				return nil
			})
		}},
	)
	if err != nil {
		return err
	}
	s.atMost("a node over a bare call", "ns of CPU", median(all[1], cpuNanos), median(all[0], cpuNanos), ratio(all[1], all[0], cpuNanos), 50)
	s.note("allocations", "a node", allocs, 0)
	return nil
}

// A fan is the state of a fan-out. Scratch is a task's alone and lives as long as it.
type fan struct {
	Sends   int
	Sum     int    `posthouse:"sum"`
	All     []int  `posthouse:"append"`
	Scratch []byte `posthouse:"-"`
}

// fanOut sends inputs to tasks. watch, if not nil, is called by each.
func fanOut(watch func(in int, out *fan) (over func())) compiler[fan] {
	g := graph.New[fan]("fan")
	graph.Task(g, "add", func(_ context.Context, in int, out *fan) error {
		if watch != nil {
			defer watch(in, out)()
		}
		out.Sum, out.All = in, []int{in}
		return nil
	})
	g.Map(graph.Start, func(s *fan) []graph.Send {
		sends := make([]graph.Send, s.Sends)
		for i := range sends {
			sends[i] = graph.Send{Node: "add", Input: i}
		}
		return sends
	}, "add")
	g.Edge("add", graph.End)
	return func(l *ledger.Ledger) (*graph.App[fan], error) { return g.Compile(l, nil) }
}

// fanOnce measures runs of a fan-out, and checks their results.
func (s *session) fanOnce(sends, runs int, watch func(int, *fan) func()) (measure, error) {
	return timed(s, s.inMemory, fanOut(watch), sends*runs, func(app *graph.App[fan]) error {
		for i := range runs {
			out, err := app.Run(s.ctx, fmt.Sprint("run-", i), fan{Sends: sends})
			if err == nil && (out.State.Sum != sends*(sends-1)/2 || len(out.State.All) != sends) {
				err = fmt.Errorf("%d sends come to %d, with %d results", sends, out.State.Sum, len(out.State.All))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// fanout measures whether a fan-out's time grows with its sends alone, and its memory
// with its concurrency alone.
func fanout(s *session) error {
	few, many := s.n(1000), s.n(10_000)
	all, err := s.interleave(
		side{"1,000 sends", func() (measure, error) { return s.fanOnce(few, 10, nil) }},
		side{"10,000 sends", func() (measure, error) { return s.fanOnce(many, 1, nil) }},
	)
	if err != nil {
		return err
	}
	s.atMost("a send of 10,000 over one of 1,000", "ns of CPU", median(all[1], cpuNanos), median(all[0], cpuNanos), ratio(all[1], all[0], cpuNanos), 1.25)

	const size = 16 << 10
	w := &fanWatch{each: max(many/5, 1), size: size}
	s.opt.Progress(s.current, "looking at the heap")
	before := heap()
	if _, err := s.fanOnce(many, 1, w.task); err != nil {
		return err
	}
	held := max(float64(w.held)-float64(before), 1)
	s.atMost("tasks at once", "", float64(w.most.Load()), 0, float64(w.most.Load()), graph.DefaultConcurrency)
	s.atMost("heap held over all states of 16 KB", "MB", held/1e6, float64(many*size)/1e6, held/float64(many*size), 0.34)
	return nil
}

// A fanWatch looks at tasks while they run.
type fanWatch struct {
	each, size int
	at, most   atomic.Int64
	still      sync.RWMutex // for a look at the heap nothing is added to it
	held       uint64
}

func (w *fanWatch) task(in int, out *fan) (over func()) {
	n := w.at.Add(1)
	for m := w.most.Load(); n > m && !w.most.CompareAndSwap(m, n); m = w.most.Load() {
	}
	w.still.RLock()
	out.Scratch = make([]byte, w.size)
	w.still.RUnlock()
	if in%w.each == w.each-1 {
		w.still.Lock()
		w.held = max(w.held, heap())
		w.still.Unlock()
	}
	return func() { w.at.Add(-1) }
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A large is a large state. A step changes one field of 100 bytes.
type large struct {
	Messages []message `posthouse:"append"`
	Manual   string
	Mood     string
	Fields   [10]string
	Turn     int
}

// stateOnce measures the steps of a run over a state of so many KB. It leaves out
// storing the state for the first time.
func (s *session) stateOnce(kb, steps int) (m measure, err error) {
	e, err := s.inMemory()
	if err != nil {
		return m, err
	}
	var cpu time.Duration
	var at time.Time
	turns := loop(steps+1, func(_ context.Context, l *large) error {
		switch l.Turn++; l.Turn {
		case 1:
			at, cpu = s.opt.Now(), cpuTime()
		case steps + 1:
			m = measure{steps: steps, wall: s.opt.Now().Sub(at), cpu: cpuTime() - cpu}
		}
		l.Mood = fmt.Sprintf("%0100d", l.Turn)
		return nil
	}, func(l *large) bool { return l.Turn <= steps })
	app, err := turns(e.Ledger)
	if err != nil {
		return e.measured(m, err)
	}
	in := large{Manual: strings.Repeat("manual", kb*7), Fields: [10]string{"ten", "small", "fields"}}
	w := newWords(13)
	for range kb {
		in.Messages = append(in.Messages, message{"user", w.text(950)})
	}
	runtime.GC()
	_, err = app.Run(s.ctx, "one", in)
	return e.measured(m, err)
}

// state measures whether a step's cost depends on what changes, not on the state.
func state(s *session) error {
	n := s.n(2000)
	all, err := s.interleave(
		side{"5 KB", func() (measure, error) { return s.stateOnce(5, n) }},
		side{"500 KB", func() (measure, error) { return s.stateOnce(500, n) }},
	)
	if err != nil {
		return err
	}
	s.atMost("a step of 500 KB over one of 5 KB", "µs of CPU", median(all[1], cpuMicros), median(all[0], cpuMicros), ratio(all[1], all[0], cpuMicros), 1.5)
	return nil
}

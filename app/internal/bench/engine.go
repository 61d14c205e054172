package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/graph"
	"github.com/posthouse/posthouse/internal/baseline"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// An engine is a ledger and its store.
type engine struct {
	*ledger.Ledger
	sqlite *sqlitestore.Store // nil in memory
	store  posthouse.Store
	path   string
}

// An opener opens an engine.
type opener func() (*engine, error)

// sqlite opens a new file, signed.
func (s *session) sqlite() (*engine, error) { return s.file(s.path("posthouse"), true, nil) }

// file opens a file.
func (s *session) file(path string, signed bool, o *sqlitestore.Options) (*engine, error) {
	store, err := sqlitestore.Open(s.ctx, path, o)
	if err != nil {
		return nil, err
	}
	return s.engine(&engine{sqlite: store, store: store, path: path}, signed)
}

func (s *session) inMemory() (*engine, error) { return s.engine(&engine{store: memstore.New()}, true) }

// unsigned is for a workload that measures nothing but nodes.
func (s *session) unsigned() (*engine, error) { return s.engine(&engine{store: memstore.New()}, false) }

func (s *session) engine(e *engine, signed bool) (*engine, error) {
	o := &ledger.Options{Cipher: s.opt.Cipher}
	var err error
	if signed {
		o.Signer, err = sign.Generate()
	}
	if err == nil {
		e.Ledger, err = ledger.Open(e.store, o)
	}
	if err != nil {
		return nil, errors.Join(err, e.store.Close())
	}
	return e, nil
}

// close closes the store and returns the size of its file.
func (e *engine) close() (int64, error) {
	if err := errors.Join(e.Ledger.Close(), e.store.Close()); err != nil || e.path == "" {
		return 0, err
	}
	return fileSize(e.path)
}

// measured closes the engine and completes the measure.
func (e *engine) measured(m measure, err error) (measure, error) {
	if e.sqlite != nil {
		m.commits = e.sqlite.Commits()
	}
	size, cerr := e.close()
	m.bytes = size
	return m, errors.Join(err, cerr)
}

// timed compiles a graph over an engine and measures work with it. The engine is
// closed then.
func timed[S any](s *session, open opener, compile compiler[S], steps int, work func(*graph.App[S]) error) (measure, error) {
	e, err := open()
	if err != nil {
		return measure{}, err
	}
	app, err := compile(e.Ledger)
	if err != nil {
		return e.measured(measure{}, err)
	}
	return e.measured(s.clock(steps, func() error { return work(app) }))
}

// raw measures rows written to the baseline.
func (s *session) raw(steps int, work func(*baseline.DB) error) (measure, error) {
	path := s.path("baseline")
	db, err := baseline.Open(path)
	if err != nil {
		return measure{}, err
	}
	m, err := s.clock(steps, func() error { return work(db) })
	err = errors.Join(err, db.Close())
	if err != nil {
		return m, err
	}
	m.bytes, err = fileSize(path)
	return m, err
}

// A small is a state of about 200 bytes of JSON. A step changes 190 of them.
type small struct {
	Count int
	Text  string
}

func smallText(n int) string { return fmt.Sprintf("%06d ", n) + smallFill }

var smallFill = strings.Repeat("a state of two hundred bytes ", 6)

// A compiler compiles a graph.
type compiler[S any] func(*ledger.Ledger) (*graph.App[S], error)

// loop is a graph of one node that runs while more says so, at most n times.
func loop[S any](n int, node func(context.Context, *S) error, more func(*S) bool) compiler[S] {
	g := graph.New[S]("loop")
	g.Node("step", node)
	g.Edge(graph.Start, "step")
	g.Route("step", func(s *S) string {
		if more(s) {
			return "step"
		}
		return graph.End
	}, "step", graph.End)
	return func(l *ledger.Ledger) (*graph.App[S], error) {
		return g.Compile(l, &graph.CompileOptions{RecursionLimit: n + 1})
	}
}

// smallLoop is a loop of n steps that change a small state.
func smallLoop(n int) compiler[small] {
	return loop(n, func(_ context.Context, s *small) error {
		s.Count++
		s.Text = smallText(s.Count)
		return nil
	}, func(s *small) bool { return s.Count < n })
}

// words makes texts of random words out of a vocabulary. One such message
// compresses to about half, as prose does. Repeated texts would favour any
// compression, and random letters would defeat it.
type words struct {
	r     *rand.Rand
	vocab []string
}

func newWords(seed uint64) *words {
	w := &words{r: rand.New(rand.NewPCG(seed, 1))}
	const letters = "eeeeeeeeeeeetttttttttaaaaaaaaoooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrrddddlllcccuuummmwwffggyyppbbvk"
	for range 200 {
		word := make([]byte, 2+w.r.IntN(9))
		for i := range word {
			word[i] = letters[w.r.IntN(len(letters))]
		}
		w.vocab = append(w.vocab, string(word))
	}
	return w
}

// text returns n bytes of words.
func (w *words) text(n int) string {
	var b strings.Builder
	b.Grow(n + 16)
	for b.Len() < n {
		b.WriteString(w.vocab[w.r.IntN(len(w.vocab))])
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

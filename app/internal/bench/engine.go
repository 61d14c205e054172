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

// An engine is a ledger over an empty store, signing.
type engine struct {
	*ledger.Ledger
	sqlite *sqlitestore.Store // nil in memory
	store  posthouse.Store
	path   string
}

func (s *session) sqlite(o *sqlitestore.Options) (*engine, error) {
	path := s.path("posthouse")
	store, err := sqlitestore.Open(s.ctx, path, o)
	if err != nil {
		return nil, err
	}
	return s.engine(&engine{sqlite: store, store: store, path: path})
}

func (s *session) inMemory() (*engine, error) { return s.engine(&engine{store: memstore.New()}) }

// unsigned is inMemory without signatures, where nothing but nodes is measured.
func (s *session) unsigned() (*engine, error) {
	e := &engine{store: memstore.New()}
	var err error
	if e.Ledger, err = ledger.Open(e.store, nil); err != nil {
		return nil, errors.Join(err, e.store.Close())
	}
	return e, nil
}

func (s *session) engine(e *engine) (*engine, error) {
	key, err := sign.Generate()
	if err == nil {
		e.Ledger, err = ledger.Open(e.store, &ledger.Options{Signer: key, Cipher: s.opt.Cipher})
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

// raw measures rows written to the baseline.
func (s *session) raw(steps int, work func(*baseline.DB) error) (measure, error) {
	path := s.path("baseline")
	db, err := baseline.Open(path)
	if err != nil {
		return measure{}, err
	}
	m, err := s.clock(steps, func() error { return work(db) })
	if err = errors.Join(err, db.Close()); err != nil {
		return m, err
	}
	m.bytes, err = fileSize(path)
	return m, err
}

// A small is a state whose JSON has about 200 bytes, of which 190 change.
type small struct {
	Count int
	Text  string
}

func smallText(n int) string { return fmt.Sprintf("%06d ", n) + smallFill }

var smallFill = strings.Repeat("a state of two hundred bytes ", 6)

// loop is a graph of one node that runs n times.
func loop(l *ledger.Ledger, n int) (*graph.App[small], error) {
	g := graph.New[small]("loop")
	g.Node("step", func(_ context.Context, s *small) error {
		s.Count++
		s.Text = smallText(s.Count)
		return nil
	})
	g.Edge(graph.Start, "step")
	g.Route("step", func(s *small) string {
		if s.Count < n {
			return "step"
		}
		return graph.End
	}, "step", graph.End)
	return g.Compile(l, &graph.CompileOptions{RecursionLimit: n + 1})
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

package posthousetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

// Import puts a thread on record that [transfer.Export] or posthouse thread export wrote, as from a server
// in production, so that CheckReplay tries the programs of the test on it. Its questions may stay
// open. The test ends if the file does not import: a sealed thread needs the Cipher of Options.Ledger.
func (e *Env) Import(file io.ReadSeeker) *Thread {
	e.t.Helper()
	f, err := transfer.Import(e.ctx, e.now.ledger, file, nil)
	if err != nil {
		e.t.Fatalf("posthousetest: importing a thread: %v", err)
	}
	for _, g := range e.openQuestions(f.Thread) {
		e.looked[g.ID] = true
	}
	return e.Thread(f.Thread)
}

// CheckReplay fails the test unless the thread's program still takes the way that is on record. It
// goes through the log: wherever the program could go on, it is executed over a copy of the log up to there, in
// which each step that is not on record is refused before it runs. So the program has to ask for the
// recorded steps in their order, and to ask the recorded questions; a flow that is done has to come
// to the recorded output. A program that reads a clock, ranges over a map or
// was changed under open threads does not. Each place of a short log is tried several times, since the
// order of a map is that on record now and then.
//
// It cannot see what a step is about: steps with one name are told apart by their order alone. A program that
// starts them in the order of a map asks for the same steps each time, and takes the result of one item for
// another's. Range over sorted keys, or name each item's step after it ("item "+id).
//
// Code outside of steps is executed again, as it is after a crash. Steps are not. The thread itself
// does not change.
func (t *Thread) CheckReplay() {
	t.env.t.Helper()
	log := t.env.world.log(t.name)
	if len(log) == 0 {
		t.env.t.Fatalf("posthousetest: there is no thread %s to replay", t.name)
	}
	for n := range log {
		for _, b := range log[n].Thread.Branches {
			if !b.Status.Runnable() {
				continue
			}
			for range max(1, min(maxReplays, maxExecutions/len(log))) {
				if err := t.replay(log, n+1, b.Branch); err != nil {
					t.env.t.Errorf("posthousetest: thread %s, branch %s, executed over its first %d entries: %v", t.name, b.Branch, n+1, err)
					return
				}
			}
		}
	}
}

// A beginning of a log is executed [maxReplays] times: a program that ranges over a map takes the way on
// record by chance. Logs with many entries are executed at least once, and at most [maxExecutions] times in all.
const (
	maxReplays    = 8
	maxExecutions = 160
)

// replay executes a branch over the first n entries, and compares what follows with the next one.
func (t *Thread) replay(log []*posthouse.Batch, n int, branch string) error {
	e := t.env
	below := memstore.New()
	defer below.Close()
	for _, b := range log[:n] {
		if err := below.Append(e.ctx, cloneBatch(b)); err != nil {
			return err
		}
	}
	at := &clock{at: log[n-1].Entry.Time()}
	s := &copied{Store: below}
	p, err := e.process(s, at)
	if err != nil {
		return err
	}
	defer func() { _ = p.ledger.Close() }() // of a copy
	info := log[n-1].Thread
	b, _ := info.Branch(branch)
	h, err := ledger.HeadOf(e.ctx, p.ledger, info, b)
	if err != nil {
		return err
	}
	program := p.programs[h.Graph]
	if program == nil {
		return fmt.Errorf("the test has no program %q", h.Graph)
	}
	err = engine.Guard(func() error { return program.Advance(engine.WithClock(e.ctx, at.reach), t.name, branch) })
	order, strayed := errors.AsType[*engine.OrderError](err)
	switch {
	case strayed:
		return order
	case errors.Is(err, posthouse.ErrOtherVersion):
		return err
	case s.refused():
		return nil // it asked for all that is on record, in its order
	case n == len(log):
		return nil
	}
	was, err := t.tell(e.now.ledger, log[n].Entry.Seq)
	if err != nil || !was.own {
		return err // a decision or a signal came first
	}
	is, err := t.tell(p.ledger, log[n].Entry.Seq)
	if err != nil {
		return err
	}
	return was.compare(is)
}

// A told is what an entry says that a program decides without a step.
type told struct {
	own    bool     // a program made it
	asks   []string // questions to people
	output []byte   // of a flow that is done
}

// tell reads an entry; one that is not there says nothing.
func (t *Thread) tell(led *ledger.Ledger, seq uint64) (s told, err error) {
	for entry, err := range led.Log(t.env.ctx, t.name, posthouse.Range{From: seq, To: seq}) {
		if err != nil {
			return s, err
		}
		for _, ev := range entry.Events {
			switch {
			case ev.Gate != nil && ev.Gate.AsksPeople():
				s.asks = append(s.asks, question(ev.Gate))
			case ev.Checkpoint != nil:
				s.own = ev.Checkpoint.Run != ""
				if ev.Checkpoint.Status != posthouse.StatusDone {
					continue
				}
				c, err := led.Get(t.env.ctx, ev.Checkpoint.ID)
				if err != nil {
					return s, err
				}
				s.output = c.State["output"].Data
			}
		}
	}
	return s, nil
}

// compare says how what a program does now differs from what is on record.
func (s told) compare(now told) error {
	if !slices.Equal(s.asks, now.asks) {
		return fmt.Errorf("it asks %s where %s is on record", asks(now.asks), asks(s.asks))
	}
	if s.output != nil && !commit.SameJSON(s.output, now.output) {
		return fmt.Errorf("its output is %s where %s is on record", now.output, s.output)
	}
	return nil
}

func asks(questions []string) string {
	if len(questions) == 0 {
		return "no question"
	}
	return strings.Join(questions, " and ")
}

// A copied is a store with a copy of a log. It refuses the entry by which a process makes sure,
// before it acts, that the thread is its own: so no step runs there that is not on record. A copy that
// ends within an effect looks like one of a process that died there: the question about its outcome
// is refused, too.
type copied struct {
	posthouse.Store

	mu sync.Mutex
	no bool
}

// saysUnknown reports whether a record says that nobody knows what became of an effect.
func saysUnknown(r posthouse.Record) bool {
	return r.Step != nil && strings.HasSuffix(r.Step.Name, ">"+effect.RecordUnknown)
}

func (s *copied) refused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.no
}

// Append implements [posthouse.Store].
func (s *copied) Append(ctx context.Context, b *posthouse.Batch) error {
	records, err := b.Entry.Records()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(records, func(r posthouse.Record) bool { return r.Claim == nil }) || slices.ContainsFunc(records, saysUnknown) {
		s.no = true
	}
	if s.no {
		return &posthouse.Error{Code: posthouse.CodeUnknown, Message: "a step that is not on record is not run again"}
	}
	return s.Store.Append(ctx, b)
}

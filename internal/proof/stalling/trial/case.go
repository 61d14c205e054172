package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
)

// The processes of a case.
const (
	cutOff = "cut off"
	other  = "other"
)

// A stall is one case.
type stall struct {
	*lane
	thread string
	model  string
	at     string // the part at which the connection stalls, or soon after the start for ""
	alone  bool   // no other process takes the thread over
	asks   bool   // what the process asks is held, and not the answers alone
	w      *witness
	bad    []string

	stalled chan struct{} // closed when the connection stalls
	missed  bool          // the process ended before that, as one that lost its lease on a busy machine
}

// draw draws the next case of a lane.
func (l *lane) draw(thread string, rnd *rand.Rand) *stall {
	names := modelNames()
	s := &stall{lane: l, thread: thread, model: names[rnd.IntN(len(names))], w: &witness{}, stalled: make(chan struct{})}
	if at := rnd.IntN(len(parts) + 1); at < len(parts) {
		s.at = parts[at]
	}
	s.alone, s.asks = rnd.IntN(4) == 0, rnd.IntN(2) == 0
	if l.control { // what a process must notice that is no store's to refuse
		s.at, s.alone, s.asks = parts[rnd.IntN(len(parts)-1)], false, false
	}
	l.mu.Lock()
	l.witnesses[s.thread] = s.w
	l.mu.Unlock()
	return s
}

func (s *stall) wrong(format string, args ...any) {
	s.bad = append(s.bad, fmt.Sprintf("seed %d, thread %s (%s, at %q, alone %v, asks held %v): ", s.seed, s.thread, s.model, s.at, s.alone, s.asks)+fmt.Sprintf(format, args...))
}

// run runs the case to its end. An error is of the trial itself.
func (s *stall) run(ctx context.Context, rnd *rand.Rand) error {
	mine, theirs := s.programs[cutOff][s.model], s.programs[other][s.model]
	s.w.cutAt, s.w.cut = s.at, s.cut
	if s.at == "first" { // its run begins at the process that is cut off
		return s.cutFirst(ctx, rnd, mine, theirs)
	}
	s.w.cut = nil
	if _, err := theirs.begin(ctx, s.thread); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := s.answer(ctx); err != nil {
		return err
	}
	s.w.mu.Lock()
	s.w.cut = s.cut
	s.w.mu.Unlock()
	return s.race(ctx, rnd, func() error { _, err := mine.resume(ctx, s.thread); return err }, theirs)
}

func (s *stall) cut() {
	s.proxy.Stall(s.asks)
	close(s.stalled)
}

func (s *stall) cutFirst(ctx context.Context, rnd *rand.Rand, mine, theirs *program) error {
	return s.race(ctx, rnd, func() error { _, err := mine.begin(ctx, s.thread); return err }, theirs)
}

// race runs the one process, cuts it off, and then runs the other.
func (s *stall) race(ctx context.Context, rnd *rand.Rand, run func() error, theirs *program) error {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	if s.at == "" {
		pause(ctx, time.Duration(rnd.Int64N(int64(20*time.Millisecond))))
		s.cut()
	}
	// The connection comes back only after it was gone: a stall that began after that would
	// not end.
	select {
	case <-s.stalled:
	case err := <-ended:
		ended <- err
		s.missed = true
		return nil
	}
	pause(ctx, s.lease+s.lease/2)
	if !s.alone {
		if err := s.finish(ctx, theirs); err != nil {
			s.proxy.Heal()
			<-ended
			return fmt.Errorf("take over: %w", err)
		}
	}
	before := s.w.count("", cutOff)
	s.proxy.Heal()
	err := <-ended
	if again := s.w.count("", cutOff) - before; !s.alone && again > 0 {
		s.wrong("the process that was cut off executed %d parts after the other had ended the thread (%v): %v", again, err, s.w.did)
	}
	if err := s.finish(ctx, theirs); err != nil {
		return fmt.Errorf("finish: %w", err)
	}
	s.judge()
	return nil
}

// judge looks at what the witness saw of a thread that has ended.
func (s *stall) judge() {
	for _, part := range parts {
		n := s.w.count(part, "")
		switch {
		case n == 0:
			s.wrong("%s was never executed: %v", part, s.w.did)
		case part == effect && n > 1:
			s.wrong("the effect was executed %d times: %v", n, s.w.did)
		case s.w.count(part, cutOff) > 1: // the other may lose its lease on a busy machine, in the middle of one
			s.wrong("%s was executed twice by the process that was cut off: %v", part, s.w.did)
		}
	}
}

// finish resumes the thread as the other process until it is done, and answers as people do
// who know what happened.
func (s *stall) finish(ctx context.Context, p *program) error {
	deadline := s.now().Add(100 * s.lease)
	for s.now().Before(deadline) {
		status, err := p.resume(ctx, s.thread)
		switch {
		case errors.Is(err, posthouse.ErrBusy), errors.Is(err, posthouse.ErrUnavailable): // its own lease may have lapsed
			pause(ctx, s.lease/8)
		case errors.Is(err, posthouse.ErrNotFound): // its first entry was never made
			status, err = p.begin(ctx, s.thread)
			if err != nil && !errors.Is(err, posthouse.ErrBusy) {
				return err
			}
		case err != nil && !errors.Is(err, posthouse.ErrConflict) && !errors.Is(err, posthouse.ErrFenced):
			return err
		}
		if status == posthouse.StatusDone {
			return nil
		}
		if status == posthouse.StatusWaiting {
			if err := s.answer(ctx); err != nil {
				return err
			}
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("thread %s does not end", s.thread)
}

// answer approves what the thread asks. For an effect with an unknown outcome it says what the
// witness saw.
func (s *stall) answer(ctx context.Context) error {
	for g, err := range s.ledgers[other].Gates(ctx, ledger.GateQuery{Thread: s.thread}) {
		if err != nil {
			return err
		}
		d := posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}
		if g.Kind == gate.KindOutcome {
			s.unknown.Add(1)
			d.Verdict = posthouse.Redo
			if s.w.count(effect, "") > 0 {
				d.Verdict, d.Value = posthouse.Happened, []byte(`"paid"`)
			}
		}
		if _, err := s.ledgers[other].Decide(ctx, g.ID, d); err != nil && !errors.Is(err, posthouse.ErrDecided) {
			return err
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

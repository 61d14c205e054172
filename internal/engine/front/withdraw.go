package front

import (
	"context"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine/session"
	"github.com/posthouse/posthouse/ledger"
)

// checkAsked refuses an input that would withdraw a question: people are asked on the branch,
// or in a thread that it waits for, or what they decided has not been acted on.
func checkAsked(ctx context.Context, s *session.Session) error {
	info, err := s.Ledger().Thread(ctx, s.Thread())
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	open, err := openQuestions(ctx, s.Ledger(), info, s.Branch(), map[string]bool{})
	if err != nil {
		return err
	}
	if len(open) > 0 {
		return askedError(s, "waits for a decision", open)
	}
	b, ok := info.Branch(s.Branch())
	if !ok || !b.Status.Runnable() && b.Status != posthouse.StatusWaiting {
		return nil
	}
	decided, err := s.Record().DecidedAfter(ctx, b.Seq)
	if err != nil {
		return err
	}
	if len(decided) > 0 {
		return askedError(s, "has a decision that was not acted on yet", decided)
	}
	return nil
}

func askedError(s *session.Session, what string, gates []posthouse.ID) error {
	e := &posthouse.Error{
		Code: posthouse.CodeConflict, Gates: gates, Gate: gates[0],
		Message: "thread " + s.Thread() + " " + what + ": " + string(gates[0]),
		Hint:    "decide it and let the thread go on, send this to another thread, or say that it withdraws the question (RunOptions.Withdraw; withdraw in the body; posthouse send --withdraw)",
	}
	if h := s.Head(); h != nil {
		e.Head = h.ID
	}
	return e
}

// openQuestions returns the open questions to people on a branch, and in the threads that it
// waits for.
func openQuestions(ctx context.Context, l *ledger.Ledger, info *posthouse.ThreadInfo, branch string, seen map[string]bool) (open []posthouse.ID, err error) {
	seen[info.Thread] = true
	for i := range info.Waiting {
		w := &info.Waiting[i]
		switch {
		case branch != "" && w.Branch != branch:
		case posthouse.AsksPeople(w.Kind):
			open = append(open, w.ID)
		case w.Kind == posthouse.GateThread:
			g, err := l.Gate(ctx, w.ID)
			if err != nil {
				return nil, err
			}
			if seen[g.Text] {
				continue
			}
			inner, err := l.Thread(ctx, g.Text)
			if errors.Is(err, posthouse.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			more, err := openQuestions(ctx, l, inner, "", seen)
			if err != nil {
				return nil, err
			}
			open = append(open, more...)
		}
	}
	return open, nil
}

package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/grants"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
)

// A TriedStep is a step that began and has no result: its attempts failed, or it is not known what they did.
type TriedStep struct {
	ForkStep
	Attempts int    `json:"attempts"`        // on record, without a result; the last one of a step that used up its attempts is not
	Error    string `json:"error,omitempty"` // of the newest, where it is on record

	// Status says of an effect under a grant what became of the newest attempt. Decided: it is known not
	// to have acted. Released: it waits for something, and goes on. Unknown: it may have acted.
	Status grants.Status `json:"status,omitempty"`

	use effect.Use
	at  int // the place of the newest record in its entry
}

// tries are the steps without a result that a log has on record, as its entries are added in order.
type tries struct{ list []*TriedStep }

// attemptFailed ends the name of the record of an attempt that failed.
const attemptFailed = "$attempt"

// add reads a record of a step, and drops what has a result since. It returns 1 where there is no room for it.
func (ts *tries) add(seq uint64, at int, s *posthouse.StepInfo) (more int) {
	end := strings.LastIndex(s.Name, handler.Nested)
	what := s.Name[end+1:]
	switch {
	case end < 0 || !strings.HasPrefix(what, "$"):
		done := handler.Call(s.Name, s.Occurrence)
		ts.list = slices.DeleteFunc(ts.list, func(t *TriedStep) bool { return t.Task == s.Task && t.Name == done })
		return 0
	case what != attemptFailed && !effect.IsRecord(what), what == effect.RecordClaimed, what == effect.RecordUndone:
		return 0
	}
	t := ts.of(s.Task, s.Name[:end])
	if t == nil {
		if len(ts.list) == maxPlanned {
			return 1
		}
		t = &TriedStep{ForkStep: ForkStep{Task: s.Task, Name: s.Name[:end], Effect: s.Effect.String(), Grant: s.Grant}}
		ts.list = append(ts.list, t)
	}
	t.Seq, t.at = seq, at
	if what == attemptFailed {
		t.Attempts++
		return 0
	}
	t.use.Record(what, s.Occurrence, s.Grant, effect.Mark{}, false)
	t.Attempts, t.Grant = t.use.Attempts(), s.Grant
	switch t.use.State() {
	case effect.Waiting:
		t.Status = grants.Released
	case effect.Licensed, effect.NotDone:
		t.Status = grants.Decided
	default:
		t.Status = grants.Unknown
	}
	return 0
}

func (ts *tries) of(task, call string) *TriedStep {
	for _, t := range ts.list {
		if t.Task == task && t.Name == call {
			return t
		}
	}
	return nil
}

// wantError has the error of the newest attempt read.
func (t *TriedStep) wantError(b bodies) {
	b.want(t.Seq, func(e *posthouse.Entry, _ []posthouse.Record) error {
		t.Error = errorIn(e.Bodies[t.at])
		return nil
	})
}

// errorIn returns the error in the record of a failed attempt.
func errorIn(body []byte) string {
	var a struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &a) != nil {
		return ""
	}
	return a.Error
}

// bodies are functions that want to see entries with their bodies, by sequence.
type bodies map[uint64][]func(*posthouse.Entry, []posthouse.Record) error

func (b bodies) want(seq uint64, read func(*posthouse.Entry, []posthouse.Record) error) {
	b[seq] = append(b[seq], read)
}

// read reads the entries. One with an erased key is passed over.
func (b bodies) read(ctx context.Context, l *Ledger, thread string) error {
	if len(b) == 0 {
		return nil
	}
	for e, err := range l.core.Store.Read(ctx, thread, posthouse.Range{Seqs: slices.Sorted(maps.Keys(b))}) {
		if err != nil {
			return err
		}
		recs, err := l.core.Vault.OpenEntry(ctx, e)
		if errors.Is(err, posthouse.ErrSealed) {
			continue
		}
		if err != nil {
			return err
		}
		for _, see := range b[e.Seq] {
			if err := see(e, recs); err != nil {
				return err
			}
		}
	}
	return nil
}

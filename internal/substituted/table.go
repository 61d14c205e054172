package substituted

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/deciders"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// Where changes are on record.
const (
	Thread = "$substitutes"
	Name   = "substitutions"
)

// A Change is what one entry says.
type Change struct {
	Named     *deciders.Substitution `json:"named,omitempty"`
	Withdrawn *Withdrawal            `json:"withdrawn,omitempty"`

	Table []deciders.Substitution `json:"table"` // those that have not ended, after the change
}

// A Withdrawal ends a substitution before its time.
type Withdrawal struct {
	deciders.Substitution
	WithdrawnBy string `json:"withdrawnBy"`
	Why         string `json:"why,omitempty"`
}

// Read returns the table as the store has it now, without those that ended by a time.
func Read(ctx context.Context, logs *threadlog.Logs, now time.Time) ([]deciders.Substitution, error) {
	info, err := logs.Thread(ctx, Thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	seq := info.NewestSignal(Name)
	if seq == 0 {
		return nil, nil
	}
	c, _, err := At(ctx, logs, seq)
	if err != nil {
		return nil, err
	}
	return current(c.Table, now), nil
}

func current(table []deciders.Substitution, now time.Time) []deciders.Substitution {
	return slices.DeleteFunc(table, func(s deciders.Substitution) bool { return !now.Before(s.Until) })
}

// At returns the change of an entry, and the entry of the change before it, 0 for the first.
func At(ctx context.Context, logs *threadlog.Logs, seq uint64) (c *Change, prev uint64, err error) {
	e, err := logs.Reader(ctx, Thread).Entry(seq, true)
	if err != nil {
		return nil, 0, err
	}
	for i := range e.Recs {
		if s := e.Recs[i].Signal; s != nil && s.Name == Name {
			c = &Change{}
			if err := json.Unmarshal(e.Bodies[i], c); err != nil {
				return nil, 0, posthouse.Corrupt("entry %d of thread %q does not decode: %v", seq, Thread, err)
			}
			return c, s.Prev, nil
		}
	}
	return nil, 0, posthouse.Corrupt("entry %d of thread %q has no change of substitutions", seq, Thread)
}

// Append records what change makes of the table as it is, in one conditional append. It may be
// called more than once.
func Append(ctx context.Context, c *core.Core, by string, change func(table []deciders.Substitution, at time.Time) (*Change, error)) error {
	return c.AppendOwn(ctx, Thread, func(tx *core.Tx) error {
		var table []deciders.Substitution
		prev := tx.Thread.Info.NewestSignal(Name)
		if prev != 0 {
			newest, _, err := At(ctx, c.Logs, prev)
			if err != nil {
				return err
			}
			table = current(newest.Table, tx.At)
		}
		next, err := change(table, tx.At)
		if err != nil {
			return err
		}
		body, err := json.Marshal(next)
		if err != nil {
			return err
		}
		if len(body) > posthouse.MaxSignal {
			return posthouse.TooLarge("substitutions", len(body), posthouse.MaxSignal)
		}
		id := c.NewID()
		tx.Add(posthouse.Record{Kind: posthouse.RecordSignal, Signal: &posthouse.SignalInfo{ID: id, Name: Name, By: by, Prev: prev}}, body)
		tx.IDs = append(tx.IDs, posthouse.IndexedID{ID: id})
		tx.Sign = true
		return nil
	})
}

package commit

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/core"
)

// CheckSignal checks a signal's name, value and sender, and copies the value.
func CheckSignal(s *posthouse.Signal) error {
	switch {
	case s.Name == "" || len(s.Name) > posthouse.MaxID || !text.Valid(s.Name) || posthouse.IsReserved(s.Name):
		return posthouse.Invalid("name", "%.40q must be 1 to %d bytes of text that do not begin with $", s.Name, posthouse.MaxID)
	case len(s.Value) > posthouse.MaxSignal:
		return posthouse.TooLarge("value", len(s.Value), posthouse.MaxSignal)
	}
	if s.ID != "" {
		if err := s.ID.Validate(); err != nil {
			return err
		}
	}
	if len(s.Value) == 0 {
		s.Value = json.RawMessage("null")
	}
	s.Value = slices.Clone(s.Value)
	if err := posthouse.CheckStrict("value", s.Value); err != nil {
		return err
	}
	return posthouse.CheckPerson("by", s.By)
}

// Send adds the signal and the decisions of the gates that it answers, and returns
// these.
func Send(tx *core.Tx, s *posthouse.Signal) ([]*posthouse.Gate, error) {
	info := tx.Thread.Info
	prev := info.NewestSignal(s.Name)
	if prev == 0 && len(info.Signals) >= posthouse.MaxSignalNames {
		return nil, tooManyNames(tx.Thread.Name)
	}
	s.Thread, s.Seq, s.At, s.Gates = tx.Thread.Name, tx.Seq, posthouse.ToMillis(tx.At), nil
	AddSignal(tx, &posthouse.SignalInfo{ID: s.ID, Name: s.Name, By: s.By, Latch: s.Latch, Prev: prev, Requesters: s.Requesters}, s.Value)
	var answered []*posthouse.Gate
	served := map[string]bool{} // branches that took it
	for _, w := range info.Waiting {
		late := !w.ExpiresAt.IsZero() && !tx.At.Before(w.ExpiresAt)
		if w.Kind != posthouse.GateSignal || w.Signal != s.Name || late || !w.Latch && !s.Latch && served[w.Branch] {
			continue
		}
		if !w.Latch {
			if !served[w.Branch] {
				AddTake(tx, w.Branch, s.Name, s.Seq)
			}
			served[w.Branch] = true
		}
		d := s.Decision(w.ID)
		AddDecision(tx, d, w.Seq)
		s.Gates = append(s.Gates, w.ID)
		if tx.Core.Config.Observer != nil {
			g, err := tx.Core.Logs.Reader(tx.Ctx, tx.Thread.Name).GateAt(w.ID, w.Seq)
			if err != nil {
				return nil, err
			}
			g.Decision = d
			answered = append(answered, g)
		}
	}
	return answered, nil
}

func tooManyNames(thread string) error {
	return &posthouse.Error{
		Code: posthouse.CodeTooLarge, Field: "name", Message: "is the signal of a new name, and thread " + thread + " has " + strconv.Itoa(posthouse.MaxSignalNames) + " names already",
		Hint: "tell signals apart by their value, not by their name",
	}
}

// AddSignal adds a signal's record.
func AddSignal(tx *core.Tx, s *posthouse.SignalInfo, value []byte) {
	tx.Add(posthouse.Record{Kind: posthouse.RecordSignal, Signal: s}, value)
	tx.IDs = append(tx.IDs, posthouse.IndexedID{ID: s.ID})
}

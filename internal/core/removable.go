package core

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
)

// DropAll removes every id of the thread from the index.
func (tx *Tx) DropAll() error {
	kept := map[posthouse.ID]bool{}
	for e, err := range tx.Core.Store.Read(tx.Ctx, tx.Thread.Name, posthouse.Range{Headers: true}) {
		if err != nil {
			return err
		}
		recs, err := e.Records()
		if err != nil {
			return err
		}
		for _, r := range recs {
			switch {
			case r.Checkpoint != nil && !kept[r.Checkpoint.ID]:
				kept[r.Checkpoint.ID] = true
				tx.Drop = append(tx.Drop, r.Checkpoint.ID)
			case r.Gate != nil:
				tx.Drop = append(tx.Drop, r.Gate.ID)
			case r.Signal != nil:
				tx.Drop = append(tx.Drop, r.Signal.ID)
			}
		}
	}
	return nil
}

// A HoldReason is the value of the signals $hold and $unhold.
type HoldReason struct {
	Reason string `json:"reason,omitempty"`
}

// Removable checks that something of the thread may be removed: it is not held, and no
// run has it.
func (tx *Tx) Removable() error {
	h := tx.Thread.Info.Hold
	if h.Seq == 0 {
		return tx.CheckLease(nil)
	}
	e := &posthouse.Error{
		Code: posthouse.CodeForbidden, Message: "thread " + tx.Thread.Name + " is under legal hold by " + h.By,
		Hint: "lift it first, with retain.Unhold or posthouse thread unhold " + tx.Thread.Name,
	}
	s, err := tx.Core.Logs.Reader(tx.Ctx, tx.Thread.Name).Signal(h.Seq)
	if err != nil {
		e.Err = err
		return e
	}
	var why HoldReason
	if json.Unmarshal(s.Value, &why) == nil && why.Reason != "" {
		e.Message += ": " + why.Reason
	}
	return e
}

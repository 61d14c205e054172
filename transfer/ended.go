package transfer

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/core"
)

// An endedNote is the value of [posthouse.SignalImported].
type endedNote struct {
	Ended []posthouse.ID `json:"ended,omitempty"` // the approvals that license nothing from here on
	Sum   string         `json:"sum,omitempty"`   // of the file
}

// endApprovals puts on record that the thread was imported, if it brings approvals under which effects
// may still run. It runs before the import is over, so that one that is interrupted does it, too.
func (in *importer) endApprovals(t *core.Thread) error {
	t.Invalidate()
	if err := in.l.Load(in.ctx, t); err != nil {
		return err
	}
	if t.Info.Gone() {
		return nil
	}
	usable, unread, err := usableApprovals(in.ctx, in.l, t.Info)
	if err != nil || len(usable)+unread == 0 {
		return err
	}
	in.file.Ended = usable
	if t.Info.Tail.Seq > in.file.Tail.Seq {
		return nil // an import that was interrupted has done it
	}
	value, err := json.Marshal(endedNote{usable, in.digest.String()})
	if err != nil {
		return err
	}
	if unread > 0 && in.l.Config.Cipher == nil {
		value = nil // nothing seals it here; that it was imported is in the header
	}
	err = in.l.Append(in.ctx, t, func(tx *core.Tx) error {
		if tx.Seq != in.file.Tail.Seq+1 {
			return in.overtakenError()
		}
		addMark(tx, posthouse.SignalImported, in.opt.By, value)
		return nil
	})
	if err == nil {
		in.wrote = t.Info.Tail
	}
	return err
}

// hasEnded reports whether an interrupted import of the file has put on record that approvals ended,
// and nothing followed.
func (in *importer) hasEnded() bool {
	if in.at.Seq != in.file.Tail.Seq+1 {
		return false
	}
	e, err := in.l.Logs.Reader(in.ctx, in.file.Thread).Entry(in.at.Seq, true)
	if err != nil || e.Prev != in.first.info.Link || len(e.Recs) != 1 {
		return false
	}
	s := e.Recs[0].Signal
	return s != nil && s.Name == posthouse.SignalImported
}

// addMark adds one of the runtime's own signals, by which approvals from before hold no more.
func addMark(tx *core.Tx, name, by string, value []byte) {
	prev := tx.Thread.Info.NewestSignal(name)
	commit.AddSignal(tx, &posthouse.SignalInfo{ID: tx.Core.IDs.New(tx.At), Name: name, By: by, Prev: prev}, value)
	tx.Sign = true
}

package commit

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// TaskSteps puts results of a handler's steps on record, each once. It knows what is on
// record since the task's gate was opened, and reads each entry behind it at most once. The
// zero value knows nothing. It is safe for concurrent use.
type TaskSteps struct {
	mu    sync.Mutex
	seq   uint64 // the last entry that is known
	known map[stepKey][]byte
}

// A stepKey names a result of a task.
type stepKey struct {
	name       string
	occurrence uint32
}

// errOnRecord ends an append that has nothing to add.
var errOnRecord = errors.New("on record")

// Record puts a result on record, within the call of its task. The same result again adds
// nothing; another one is [posthouse.ErrExists]. Other errors are those of [ResolveTask]
// for a gate that is not open.
func (t *TaskSteps) Record(ctx context.Context, c *core.Core, id posthouse.ID, s posthouse.Step) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := stepKey{s.Name, s.Occurrence}
	var seq uint64
	_, err := Assign(ctx, c, id, func(tx *core.Tx, g *posthouse.Gate) error {
		if err := t.read(tx, g); err != nil {
			return err
		}
		switch have, ok := t.known[key]; {
		case ok && bytes.Equal(have, s.Value.Data):
			return errOnRecord
		case ok:
			return &posthouse.Error{
				Code: posthouse.CodeExists, Gate: id, Message: "step " + s.Name + " has another result on record",
				Hint: "execute the handler again: it gets that result",
			}
		}
		s.Task, seq = g.Task, tx.Seq
		p := &Plan{Thread: g.Thread, Branch: g.Branch, Steps: []posthouse.Step{s}}
		return (&Commit{tx: tx, plan: p}).recordSteps()
	})
	switch {
	case errors.Is(err, errOnRecord):
		return nil
	case err == nil:
		t.known[key], t.seq = bytes.Clone(s.Value.Data), seq
	}
	return err
}

// read notes the task's results in the entries that are not known yet.
func (t *TaskSteps) read(tx *core.Tx, g *posthouse.Gate) error {
	if t.known == nil {
		t.known, t.seq = map[stepKey][]byte{}, g.Seq
	}
	if t.seq+1 >= tx.Seq {
		return nil
	}
	for e, err := range tx.Core.InOrder(tx.Ctx, g.Thread, posthouse.Range{From: t.seq + 1, To: tx.Seq - 1}) {
		if err != nil {
			return err
		}
		recs, err := tx.Core.Opened(tx.Ctx, e)
		if err != nil {
			return err
		}
		for i := range recs {
			if s := recs[i].Step; s != nil && s.Task == g.Task && s.Branch == g.Branch {
				t.known[stepKey{s.Name, s.Occurrence}] = e.Bodies[i]
			}
		}
		t.seq = e.Seq
	}
	return nil
}

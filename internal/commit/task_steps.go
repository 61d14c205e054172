package commit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
)

// TaskSteps puts results of a handler's steps on record, each once. It knows what is on
// record since the task's gate was opened, and reads each later entry at most once. The
// zero value is ready for use. It is safe for concurrent use.
type TaskSteps struct {
	Within string // begins the names of the results that it knows
	Limit  int    // of their bytes together, with their names; 0: no limit

	// Earlier, if set, returns the results on record from before the gate was opened. It is
	// called once.
	Earlier func(ctx context.Context) ([]posthouse.StepRecord, error)

	mu      sync.Mutex
	seq     uint64 // the last entry that is known
	known   map[stepKey][sha256.Size]byte
	earlier []posthouse.StepRecord // until the first entry is read
	size    int                    // of all that is known
}

// A stepKey names a result of a task.
type stepKey struct {
	name       string
	occurrence uint32
}

// errOnRecord ends an append that has nothing to add.
var errOnRecord = errors.New("on record")

// Record puts a result on record, within the call of its task. The same result again adds
// nothing; another one is [posthouse.ErrExists]. [posthouse.ErrTooLarge] beyond the limit.
// Other errors are those of [ResolveTask] for a gate that is not open.
func (t *TaskSteps) Record(ctx context.Context, c *Committer, at GateRef, s posthouse.Step) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil && t.earlier == nil && t.Earlier != nil {
		var err error
		t.earlier, err = t.Earlier(ctx)
		if err != nil {
			return err
		}
	}
	var seq uint64
	_, err := Assign(ctx, c, at, func(tx *core.Tx, g *posthouse.Gate) error {
		if err := t.read(tx, g); err != nil {
			return err
		}
		if err := t.mayAdd(at.Gate, &s); err != nil {
			return err
		}
		s.Task, seq = g.Task, tx.Seq
		p := &Plan{Thread: g.Thread, Branch: g.Branch, Steps: []posthouse.Step{s}}
		return (&Commit{tx: tx, plan: p}).recordSteps()
	})
	switch {
	case errors.Is(err, errOnRecord):
		return nil
	case err == nil:
		t.note(s.Name, s.Occurrence, s.Value.Data)
		t.seq = seq
	}
	return err
}

// mayAdd returns errOnRecord for a result that is on record, and an error for one that does
// not fit to what is.
func (t *TaskSteps) mayAdd(id posthouse.ID, s *posthouse.Step) error {
	have, ok := t.known[stepKey{s.Name, s.Occurrence}]
	size := t.size + len(s.Name) + len(s.Value.Data)
	switch {
	case ok && have == sha256.Sum256(s.Value.Data):
		return errOnRecord
	case ok:
		return &posthouse.Error{
			Code: posthouse.CodeExists, Gate: id, Message: "step " + s.Name + " has another result on record",
			Hint: "execute the handler again: it gets that result",
		}
	case t.acts(s):
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Gate: id, Field: "step", Message: fmt.Sprintf("%.200q is an effect under a grant", s.Name),
			Hint: "end it with its result (end), which names the attempt that began",
		}
	case t.Limit > 0 && size > t.Limit:
		return overLimit(id, s.Name, size, t.Limit)
	}
	return nil
}

// acts reports whether an effect of the step's name has begun under a grant.
func (t *TaskSteps) acts(s *posthouse.Step) bool {
	_, ok := t.known[stepKey{handler.Call(s.Name, s.Occurrence) + handler.Nested + effect.RecordBegins, 0}]
	return ok
}

func overLimit(id posthouse.ID, name string, size, limit int) error {
	return &posthouse.Error{
		Code: posthouse.CodeTooLarge, Gate: id, Field: "steps", Message: fmt.Sprintf("of the iteration have %d bytes with step %.200q; the limit is %d", size, name, limit),
		Hint: "keep large values elsewhere and record references, or go on with another iteration, which has steps of its own",
	}
}

// note notes a result, if it is one of those that are to be known. The first of a name counts.
func (t *TaskSteps) note(name string, occurrence uint32, data []byte) {
	key := stepKey{name, occurrence}
	if _, ok := t.known[key]; ok || !strings.HasPrefix(name, t.Within) {
		return
	}
	t.known[key] = sha256.Sum256(data)
	t.size += len(name) + len(data)
}

// read notes the task's results in the entries that are not known yet.
func (t *TaskSteps) read(tx *core.Tx, g *posthouse.Gate) error {
	if t.known == nil {
		t.known, t.seq = map[stepKey][sha256.Size]byte{}, g.Seq
		for i := range t.earlier {
			if s := &t.earlier[i]; s.Seq <= g.Seq {
				t.note(s.Name, s.Occurrence, s.Value.Data)
			}
		}
		t.earlier = nil
	}
	if t.seq+1 >= tx.Seq {
		return nil
	}
	for e, err := range tx.Core.Logs.InOrder(tx.Ctx, g.Thread, posthouse.Range{From: t.seq + 1, To: tx.Seq - 1}) {
		if err != nil {
			return err
		}
		recs, err := tx.Core.Vault.OpenEntry(tx.Ctx, e)
		if err != nil {
			return err
		}
		for i := range recs {
			if s := recs[i].Step; s != nil && s.Task == g.Task && s.Branch == g.Branch {
				t.note(s.Name, s.Occurrence, e.Bodies[i])
			}
		}
		t.seq = e.Seq
	}
	return nil
}

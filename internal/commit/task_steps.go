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
	"github.com/posthouse/posthouse/internal/threadlog"
)

// TaskSteps puts results of a handler's steps on record, each once. It knows what is on
// record since the task's gate was opened, and reads each later entry at most once. The
// zero value is ready for use. It is safe for concurrent use.
type TaskSteps struct {
	Within string // begins the names of the results that it knows
	Limit  int    // of their bytes together, with their names; 0: no limit

	// Earlier, if set, returns what is on record from before the gate was opened, nil for nothing. It
	// is called once.
	Earlier func(ctx context.Context) (*threadlog.Execution, error)

	mu      sync.Mutex
	seq     uint64 // the last entry that is known
	known   map[stepKey]stepEnd
	earlier *threadlog.Execution // until the first entry is read
	size    int                  // of all that is known
}

// A stepKey names a result of a task.
type stepKey struct {
	name       string
	occurrence uint32
}

// A stepEnd is what is on record of a step.
type stepEnd struct {
	hash   [sha256.Size]byte
	failed bool // it is a failure
	stands bool // of a failure: its handler acted after it, so the step is not made again
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
		t.note(s.Name, s.Occurrence, s.Value.Codec, s.Effect, s.Value.Data)
		t.seq = seq
	}
	return err
}

// mayAdd returns errOnRecord for a result that is on record, and an error for one that does
// not fit to what is.
func (t *TaskSteps) mayAdd(id posthouse.ID, s *posthouse.Step) error {
	have, ok := t.known[stepKey{s.Name, s.Occurrence}]
	size, failed := t.size+len(s.Name)+len(s.Value.Data), s.Value.Codec == threadlog.CodecFailed
	switch {
	case ok && have.failed == failed && have.hash == sha256.Sum256(s.Value.Data):
		return errOnRecord
	case ok && have.stands:
		return &posthouse.Error{
			Code: posthouse.CodeExists, Gate: id, Message: "step " + s.Name + " failed, and what its handler did after that is on record",
			Hint: "execute the handler again: it gets that failure",
		}
	case ok && !have.failed:
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

// note notes a result or a failure, if it is one of those that are to be known. The first result of a
// name counts, else the newest failure.
func (t *TaskSteps) note(name string, occurrence uint32, codec string, class posthouse.Effect, data []byte) {
	within, ok := strings.CutPrefix(name, t.Within)
	if !ok {
		return
	}
	failed := codec == threadlog.CodecFailed
	if !failed && class != posthouse.EffectPure && class != posthouse.EffectRead && !strings.HasPrefix(within, "$") {
		for k, have := range t.known {
			have.stands = have.stands || have.failed && k != stepKey{name, occurrence}
			t.known[k] = have
		}
	}
	key := stepKey{name, occurrence}
	if have, ok := t.known[key]; ok && (!have.failed || have.stands) {
		return
	}
	t.known[key] = stepEnd{hash: sha256.Sum256(data), failed: failed}
	t.size += len(name) + len(data)
}

// readEarlier notes what is on record from before the gate was opened, with the failures after which
// the handler asked or waited.
func (t *TaskSteps) readEarlier(g *posthouse.Gate) {
	if t.earlier == nil {
		return
	}
	for i := range t.earlier.Steps {
		if s := &t.earlier.Steps[i]; s.Seq <= g.Seq {
			t.note(s.Name, s.Occurrence, s.Value.Codec, s.Effect, s.Value.Data)
		}
	}
	for _, f := range t.earlier.Failures() {
		if have, ok := t.known[stepKey{f.Step.Name, f.Step.Occurrence}]; ok && have.failed && f.Stands() {
			have.stands = true
			t.known[stepKey{f.Step.Name, f.Step.Occurrence}] = have
		}
	}
}

// read notes the task's results in the entries that are not known yet.
func (t *TaskSteps) read(tx *core.Tx, g *posthouse.Gate) error {
	if t.known == nil {
		t.known, t.seq = map[stepKey]stepEnd{}, g.Seq
		t.readEarlier(g)
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
				t.note(s.Name, s.Occurrence, s.Codec, s.Effect, e.Bodies[i])
			}
		}
		t.seq = e.Seq
	}
	return nil
}

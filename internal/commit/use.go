package commit

import (
	"context"
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
)

// A UseRecord is what a use of a grant has on record of a worker that had its task.
type UseRecord struct {
	Gate    posthouse.ID `json:"gate"` // of the attempt
	Call    posthouse.ID `json:"call"` // of the task
	Worker  string       `json:"worker"`
	Attempt int          `json:"attempt"`
	NotDone bool         `json:"notDone,omitempty"` // the worker said so; earlier versions took it so of each error
}

// ClaimUse puts on record that a worker is about to have a task under a grant. Its errors are
// those of [ResolveTask] for a gate that is not open: then the worker must not begin. So the
// log says of a claim and a withdrawal which one came first.
func ClaimUse(ctx context.Context, c *Committer, at GateRef, worker string) error {
	_, err := Assign(ctx, c, at, func(tx *core.Tx, g *posthouse.Gate) error {
		at.Named(g)
		return addUse(tx, c.Rules, g, effect.RecordClaimed, UseRecord{Gate: g.ID, Call: g.Call.ID, Worker: worker, Attempt: g.Call.Attempt})
	})
	return err
}

// KeepReply puts what a worker replied on record, which did not fit: within the use that the task
// belongs to, else within what the names of its handler's records begin with. Its errors are those of
// [ClaimUse].
func KeepReply(ctx context.Context, c *Committer, at GateRef, within string, r *effect.Reply) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = Assign(ctx, c, at, func(tx *core.Tx, g *posthouse.Gate) error {
		at.Named(g)
		s := posthouse.Step{
			Task: g.Task, Name: within + handler.Nested + effect.RecordReply, Occurrence: uint32(tx.Seq), Effect: posthouse.EffectPure,
			Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: data},
		}
		if g.Call.Use != "" {
			s.Name, s.Effect, s.Grant = g.Call.Use+handler.Nested+effect.RecordReply, g.Call.Effect, g.Call.Grant
		}
		p := &Plan{Thread: g.Thread, Branch: g.Branch, Steps: []posthouse.Step{s}}
		return (&Commit{tx: tx, rules: c.Rules, plan: p}).recordSteps()
	})
	return err
}

// Named fills in the grant that a task acts under, from what the place knows: an earlier version
// handed tasks out under a grant and did not name it.
func (p *GateRef) Named(g *posthouse.Gate) {
	if p.asked == nil || p.asked.Call == nil || g.Call == nil || g.Call.Grant != "" || p.asked.Call.Grant == "" {
		return
	}
	c, known := *g.Call, p.asked.Call
	c.Grant, c.Use, c.Effect = known.Grant, known.Use, known.Effect
	g.Call = &c
}

// addUse adds a record within the use that a task belongs to. Records of one name are told
// apart by their entry.
func addUse(tx *core.Tx, rules *Rules, g *posthouse.Gate, name string, r UseRecord) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p := &Plan{Thread: g.Thread, Branch: g.Branch, Steps: []posthouse.Step{{
		Task: g.Task, Name: g.Call.Use + handler.Nested + name, Occurrence: uint32(tx.Seq), Effect: g.Call.Effect, Grant: g.Call.Grant,
		Value: posthouse.Value{Codec: posthouse.JSON.Name(), Data: data},
	}}}
	return (&Commit{tx: tx, rules: rules, plan: p}).recordSteps()
}

package commit

import (
	"encoding/json"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/story"
)

// A Plan is the input of one commit: a draft, or what a fork, a copy, a cancellation or
// a revision needs.
type Plan struct {
	Thread string
	Branch string      // "" is main
	Claim  *core.Claim // nil for a change made by hand

	// Head, if set, is the expected head of the branch; "" expects no such branch.
	Head *posthouse.ID

	// Tail, if set, is the expected last entry of the thread: the plan depends on what is on record
	// so far, on any branch.
	Tail uint64

	Checkpoint      *posthouse.Change
	Steps           []posthouse.Step
	ConsumedSignals []posthouse.Take // signals that these steps consume
	Gates           []posthouse.Gate // opened with the checkpoint
	Open            OpenGates        // what becomes of those that the branch has
	Decided         []posthouse.Gate // questions with their decision, never open
	AfterCancel     bool             // done before its run was asked to cancel

	// Release, if set, closes the generation in the same entry.
	Release *Closing

	// ByHand says that somebody saves the checkpoint: if executions of the program's step have
	// something on record, it stays in the middle of that step. Nothing of the record is
	// forgotten then, and no name of an execution is used again.
	ByHand bool

	Revise  posthouse.ID      // the checkpoint that this one revises
	Inherit []*posthouse.Gate // decided gates that a forked thread inherits
	Again   []*posthouse.Gate // failed tasks that a fork does not inherit: its program hands them out again
	Cancel  bool              // ends a branch that was asked to cancel
	Step    uint64            // the count of steps at which a forked thread begins

	// Copy says that Step is the checkpoint's own count, and that status and gates are
	// copied unchanged.
	Copy bool

	// Recorded are parts that are on record already. Rules made since do not judge them.
	Recorded posthouse.State

	behalf []posthouse.Requester // people for whom a program makes a change in another thread

	schemas map[string]error // what the validator said of the gates' schemas, before a lock was held

	// Read is what was read of the parent's state and program already, or nil.
	Read posthouse.State
}

// Validate checks the plan and fills in its defaults. [posthouse.ErrInvalid] names the
// field.
func (p *Plan) Validate() error {
	if p.Branch == "" {
		p.Branch = posthouse.MainBranch
	}
	if err := posthouse.ValidateName("branch", p.Branch); err != nil {
		return err
	}
	if p.Checkpoint != nil && !p.Copy { // a copy's is as it was
		if err := posthouse.CheckPerson("by", p.Checkpoint.By); err != nil {
			return err
		}
	}
	if p.Checkpoint == nil && len(p.Steps)+len(p.Decided)+len(p.Inherit)+len(p.Gates) == 0 {
		return posthouse.Invalid("draft", "holds neither a checkpoint nor a step")
	}
	for i := range p.Decided {
		if g := &p.Decided[i]; !g.AsksPeople() || g.Decision == nil || g.Decision.By == "" {
			return posthouse.Invalid("decided", "gate %.40q must ask people and carry who decided it", g.Name)
		}
	}
	parks := func(g posthouse.Gate) bool { return g.Kind != effect.KindOutcome && g.Kind != posthouse.GateTimer } // what settles an outcome is on record before the run parks
	if len(p.Gates) > 0 && (p.Checkpoint == nil && slices.ContainsFunc(p.Gates, parks) || p.Checkpoint != nil && p.Checkpoint.Status != posthouse.StatusWaiting) {
		return posthouse.Invalid("gates", "need a checkpoint of status waiting in the same commit")
	}
	records := 2*(len(p.Gates)+len(p.Decided)) + len(p.Steps) + len(p.Again) + len(p.ConsumedSignals) + len(p.Open.Keep) + len(p.Open.Withdraw)
	for i := range p.Steps {
		if len(p.Steps[i].Story.Notes) > 0 {
			records++ // they are a record of their own
		}
	}
	if records > posthouse.MaxRecords-8 { // a commit may have a few others
		return posthouse.Invalid("draft", "holds more than %d records", posthouse.MaxRecords-8)
	}
	if p.Release != nil {
		if err := p.Release.check(); err != nil {
			return err
		}
		if len(p.Gates) > 0 {
			return posthouse.Invalid("release", "would cancel the gates that the draft opens")
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Name == "" || len(s.Name) > posthouse.MaxTask || len(s.Task) > posthouse.MaxTask {
			return posthouse.Invalid("step", "name %.40q must be 1 to %d bytes, its task at most %d", s.Name, posthouse.MaxTask, posthouse.MaxTask)
		}
		if s.Value.Codec == "" {
			s.Value.Codec = "json"
		}
		if err := posthouse.ValidateCodec(s.Value.Codec, s.Name); err != nil {
			return err
		}
		if _, err := story.Encode(&s.Story); err != nil {
			return err
		}
	}
	if p.Checkpoint != nil {
		return validateChange(p.Checkpoint)
	}
	return nil
}

// TrySchemas has the validator look at the schemas of gates that the plan opens. A schema is code
// of a stranger, so callers hold no lock.
func (p *Plan) TrySchemas(rules *Rules) {
	for i := range p.Gates {
		if s := p.Gates[i].Schema; len(s) > 0 && rules.Validate != nil {
			if p.schemas == nil {
				p.schemas = map[string]error{}
			}
			if _, done := p.schemas[string(s)]; !done {
				p.schemas[string(s)] = rules.Validate(s, json.RawMessage("null"))
			}
		}
	}
}

// schemaError returns what was found of a schema. A gate that no draft has, such as one that is
// asked again, was asked with it before.
func (p *Plan) schemaError(schema json.RawMessage) error { return p.schemas[string(schema)] }

func kindOf(c *posthouse.Change) string {
	if c == nil {
		return ""
	}
	return c.Kind
}

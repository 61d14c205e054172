package commit

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/core"
)

// A Committer commits to the threads of a core. Its rules judge what is committed.
type Committer struct {
	*core.Core
	Rules   *Rules
	Answers Answers // of questions that programs of this process ask
}

// Rules are the part of a Ledger's options that judges what is committed.
type Rules struct {
	Policy        posthouse.DecidePolicy    // nil: the gate's own rules
	Validate      posthouse.SchemaValidator // nil: no values are checked
	RequireGrants bool                      // effects on the world need a grant
	Checks        []posthouse.Rule          // each commit is checked by all of them
}

// Reconsider asks Options.Policy again about everybody who took part in a gate's
// decision: an approval does not give authority forever. It returns the policy's error.
func (r *Rules) Reconsider(g *posthouse.Gate) error {
	if r.Policy == nil || g.Decision == nil || g.Decision.Seq == g.Seq { // decided as it was opened: by no person
		return nil
	}
	decisions := []posthouse.Decision{*g.Decision}
	if g.Quorum != nil {
		decisions = g.Votes
	}
	asked := g.Clone()
	asked.Decision = nil
	for i := range decisions {
		if err := r.Policy(asked, decisions[i].Clone()); err != nil {
			return err
		}
	}
	return nil
}

// MayOpen returns [posthouse.ErrUnsupported] for a gate with a schema for its answer, if the
// Ledger has no validator. [ledger.Ledger.Commit] opens no such gate: its decision would
// fail, perhaps a week later. For the same reason it returns [posthouse.ErrInvalid] for a
// schema that the validator refuses: it says so of any value, with the field schema.
func (r *Rules) MayOpen(g *posthouse.Gate) error {
	return r.mayOpen(g, func(schema json.RawMessage) error { return r.Validate(schema, json.RawMessage("null")) })
}

func (r *Rules) mayOpen(g *posthouse.Gate, try func(schema json.RawMessage) error) error {
	switch {
	case len(g.Schema) == 0 || !slices.ContainsFunc(posthouse.ValueVerdicts(), g.Allows):
		return nil
	case r.Validate == nil:
		return UncheckedError(g)
	}
	err := try(g.Schema)
	if e, ok := errors.AsType[*posthouse.Error](err); ok && e.Field == "schema" {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "schema", Message: "of gate " + cmp.Or(string(g.ID), g.Name) + " cannot be used to check an answer", Err: err,
			Hint: "ask with a smaller schema that can be checked, or without one",
		}
	}
	return nil
}

// UncheckedError returns the error of a value that no validator can check.
func UncheckedError(g *posthouse.Gate) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Field: "schema", Message: "of gate " + cmp.Or(string(g.ID), g.Name) + " cannot be checked by this ledger",
		Hint: "set Options.Validate, for example to gate.Validator()",
	}
}

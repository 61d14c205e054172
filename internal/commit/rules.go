package commit

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
	"github.com/posthouse/posthouse/internal/core"
)

// A Committer commits to the threads of a core. Its rules judge what is committed.
type Committer struct {
	*core.Core
	Rules   *Rules
	Answers Answers // of questions that programs of this process ask
	Outputs Outputs // of tasks that programs of this process hand out
}

// Rules are the part of a Ledger's options that judges what is committed.
type Rules struct {
	Policy        posthouse.DecidePolicy    // nil: the gate's own rules
	Validate      posthouse.SchemaValidator // nil: no values are checked
	RequireGrants bool                      // effects on the world need a grant
	Checks        []posthouse.Rule          // each commit is checked by all of them
	Signs         bool                      // the Ledger has a key, so what it acts on has signatures
}

// unsigned returns why an answer does not count for a Ledger with a key: an entry of it has no signature
// of its own, so a writer that has no key made it. A question from before the key needs no signature.
func (r *Rules) unsigned(g *posthouse.Gate) error {
	if !r.Signs || g.Decision == nil || !g.Record.Signed || g.Record.AnswerSigned {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeForbidden, Message: "the decision of gate " + string(g.ID) + ", a vote on it or a delegation has no signature, and its question has one: who wrote it has not the key",
		Hint: "look at posthouse verify; give each process that decides the signing key",
	}
}

// Reconsider looks again at an approval under which something is to be done: it does not give
// authority forever. With a key, its question and its answer have signatures. Options.Policy is asked again about
// everybody who took part; Reconsider returns its error.
func (r *Rules) Reconsider(g *posthouse.Gate) error {
	if err := r.unsigned(g); err != nil {
		return err
	}
	if r.Signs && g.Decision != nil && !g.Record.Signed {
		return &posthouse.Error{Code: posthouse.CodeForbidden, Message: "gate " + string(g.ID) + " has no signature: it was asked without the key"}
	}
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

// maxAnswers bounds the questions with answers that this process knows how to read.
const maxAnswers = 4096

// Answers read the values of decisions as the programs of this process will. A schema takes values
// that a type does not, such as 1e400. The oldest entry is dropped when there are 4,096: its
// answers are checked by the schema alone.
type Answers struct {
	mu    sync.Mutex
	read  map[posthouse.Hash]func(posthouse.Verdict, json.RawMessage) error
	order []posthouse.Hash
}

// Expect registers the reader of a question that this process asks. Thread, Task, Name, Text and
// Payload of g are set. read may run foreign code, must not panic, and is called without locks.
func (a *Answers) Expect(g *posthouse.Gate, read func(posthouse.Verdict, json.RawMessage) error) {
	key := answerKey(g)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.read == nil {
		a.read = map[posthouse.Hash]func(posthouse.Verdict, json.RawMessage) error{}
	}
	if a.read[key] == nil {
		if len(a.order) == maxAnswers {
			delete(a.read, a.order[0])
			a.order = a.order[1:]
		}
		a.order = append(a.order, key)
	}
	a.read[key] = read
}

// Check reads a decision's value as the program that asked will. It returns nil if that program's
// type is not known here.
func (a *Answers) Check(g *posthouse.Gate, d *posthouse.Decision) error {
	if len(d.Value) == 0 {
		return nil
	}
	a.mu.Lock()
	read := a.read[answerKey(g)]
	a.mu.Unlock()
	if read == nil {
		return nil
	}
	return read(d.Verdict, d.Value)
}

func answerKey(g *posthouse.Gate) posthouse.Hash {
	content := g.Content()
	return canon.Hash("posthouse/answer/1", []byte(g.Thread), []byte(g.Task), content[:])
}

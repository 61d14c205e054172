package task

import (
	"encoding/json"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/handler"
)

// A Use is an effect of a handler under a grant, as its worker names it.
type Use struct {
	Name       string          `json:"name"` // of the call, as the handler spells it
	Occurrence uint32          `json:"occurrence,omitempty"`
	Grant      posthouse.ID    `json:"grant"`                // the gate that the handler proposed it at
	Idempotent bool            `json:"idempotent,omitempty"` // doing it again with the same key is safe
	Schema     json.RawMessage `json:"schema,omitempty"`     // JSON Schema of its result, for people who say what came of it

	// Refused is an approved gate that the handler's own check refused, and Why says why.
	Refused posthouse.ID `json:"refused,omitempty"`
	Why     string       `json:"why,omitempty"`
}

// A Beginning asks whether an effect of a handler under a grant may run now, and puts on record
// that it begins. The same again is the same attempt.
type Beginning struct {
	Use   Use    `json:"use"`
	Nonce string `json:"nonce"` // of the attempt: 16 to 200 random bytes

	// Look asks only: nothing begins. Passed is the gate that the handler's own check let pass;
	// if another one licenses the effect by then, nothing begins either.
	Look   bool         `json:"look,omitempty"`
	Passed posthouse.ID `json:"passed,omitempty"`

	// Reconciles says that the handler can find out what became of an attempt with an unknown
	// outcome, and Found is what it found.
	Reconciles bool   `json:"reconciles,omitempty"`
	Found      *Found `json:"found,omitempty"`
}

// A Found is what a handler found out about an attempt of an effect.
type Found struct {
	Attempt int              `json:"attempt"` // as [Begun] said
	Done    bool             `json:"done,omitempty"`
	Result  *posthouse.Value `json:"result,omitempty"` // if it is done
}

// A Begun answers a [Beginning].
type Begun struct {
	Result  *posthouse.Value `json:"result,omitempty"`  // on record: nothing runs
	Waits   bool             `json:"waits,omitempty"`   // people are to be asked: the handler waits for the use
	Unknown int              `json:"unknown,omitempty"` // the attempt under Gate that has an outcome for the handler to find out

	// Begins says that the attempt is on record, and the effect is to run on what Gate's decision
	// licenses: its payload, or the value of an edit. Without it, Gate is what would license it.
	Begins bool            `json:"begins,omitempty"`
	Gate   *posthouse.Gate `json:"gate,omitempty"`
	Key    string          `json:"key,omitempty"` // of the use: the same in all its attempts
}

// An Ending says what became of an effect that a claim began: its result, or why it failed. Without
// an Ending, and after a failure that is not NotDone, the outcome is unknown once the claim is over.
type Ending struct {
	Name       string           `json:"name"`
	Occurrence uint32           `json:"occurrence,omitempty"`
	Nonce      string           `json:"nonce"`
	Result     *posthouse.Value `json:"result,omitempty"`
	Failed     string           `json:"failed,omitempty"`  // at most 4,000 bytes
	NotDone    bool             `json:"notDone,omitempty"` // the handler's word that nothing happened; goes with Failed
}

// Bounds of a nonce, in bytes.
const minNonce, maxNonce = 16, 200

func checkNonce(nonce string) error {
	if len(nonce) < minNonce || len(nonce) > maxNonce || !text.Valid(nonce) {
		return posthouse.Invalid("nonce", "must be %d to %d bytes of text that no other call has", minNonce, maxNonce)
	}
	return nil
}

func checkUse(u *Use) error {
	if err := handler.CheckName("effect", u.Name); err != nil {
		return err
	}
	if err := handler.CheckEffect(u.Name); err != nil {
		return err
	}
	if u.Grant.Validate() != nil {
		return posthouse.Invalid("grant", "of effect %.40q must be the id of a gate", u.Name)
	}
	if len(u.Schema) > 0 {
		if err := posthouse.CheckStrict("schema", u.Schema); err != nil {
			return err
		}
	}
	switch {
	case len(u.Schema) > MaxInput:
		return posthouse.TooLarge("schema", len(u.Schema), MaxInput)
	case u.Refused != "" && u.Refused.Validate() != nil:
		return posthouse.Invalid("refused", "of effect %.40q must be the id of a gate", u.Name)
	case len(u.Why) > posthouse.MaxText || !text.IsUTF8(u.Why):
		return posthouse.Invalid("why", "must be at most %d bytes of text", posthouse.MaxText)
	case (u.Refused == "") != (u.Why == ""):
		return posthouse.Invalid("why", "goes with refused: which approval does not hold, and why")
	}
	return nil
}

// Check returns [posthouse.ErrInvalid] or [posthouse.ErrTooLarge], which name the field.
func (b *Beginning) Check() error {
	if err := checkUse(&b.Use); err != nil {
		return err
	}
	if err := checkNonce(b.Nonce); err != nil {
		return err
	}
	f := b.Found
	switch {
	case b.Passed != "" && b.Passed.Validate() != nil:
		return posthouse.Invalid("passed", "must be the id of a gate")
	case f == nil:
		return nil
	case !b.Reconciles:
		return posthouse.Invalid("found", "goes with reconciles")
	case f.Attempt < 1:
		return posthouse.Invalid("attempt", "of found is %d; it is the number that the engine asked about", f.Attempt)
	case f.Done != (f.Result != nil):
		return posthouse.Invalid("result", "of found goes with done")
	case f.Result != nil:
		return checkResult(b.Use.Name, f.Result)
	}
	return nil
}

// Check returns [posthouse.ErrInvalid] or [posthouse.ErrTooLarge], which name the field.
func (e *Ending) Check() error {
	if err := handler.CheckName("effect", e.Name); err != nil {
		return err
	}
	if err := checkNonce(e.Nonce); err != nil {
		return err
	}
	switch {
	case (e.Result == nil) == (e.Failed == ""):
		return posthouse.Invalid("result", "or failed is required to end effect %.40q: one of them", e.Name)
	case len(e.Failed) > posthouse.MaxText || !text.IsUTF8(e.Failed):
		return posthouse.Invalid("failed", "must be at most %d bytes of text", posthouse.MaxText)
	case e.NotDone && e.Failed == "":
		return posthouse.Invalid("notDone", "goes with failed, which says why effect %.40q did not happen", e.Name)
	case e.Result != nil:
		return checkResult(e.Name, e.Result)
	}
	return nil
}

func checkResult(effect string, v *posthouse.Value) error {
	if err := v.Validate(effect); err != nil {
		return err
	}
	if n := len(v.Data); n > MaxStep {
		e := posthouse.TooLarge("effect "+effect, n, MaxStep)
		e.Hint = "keep large values elsewhere and return a reference"
		return e
	}
	return nil
}

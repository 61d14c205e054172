package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
)

// A World is what programs call: models, banks, registers and mail.
type World struct {
	Do    func(ctx context.Context, d Deed) error          // acts, once for each key
	Spend func(ctx context.Context, d time.Duration) error // takes the time that an answer takes
	Fail  func(call string, content any) error             // says what goes wrong in a call; nil: nothing does

	Park   time.Duration // the longest wait that a run does itself, as in graph.CompileOptions.HoldFor
	Beside int           // calls that a program makes at once; 0: as many as it has
}

// A Deed is what a program did to the world.
type Deed struct {
	Key     string `json:"key"` // the same whenever the same deed is tried again
	What    string `json:"what"`
	Content any    `json:"content"`
	By      string `json:"approvedBy"`
}

// A Receipt is what the world answers to a deed.
type Receipt struct {
	Number string `json:"number" doc:"of the receipt"`
	By     string `json:"approvedBy" doc:"who approved it"`
}

// fail returns what goes wrong in a call.
func (w *World) fail(call string, content any) error {
	if w.Fail == nil {
		return nil
	}
	return w.Fail(call, content)
}

// A prompt is what a model is asked, and what it answers.
type prompt struct {
	model, input, answer string
	cost                 string
	takes                time.Duration
}

// ask has a model answer, and puts what that took beside the answer.
func (w *World) ask(ctx context.Context, name string, p prompt) (string, error) {
	return step.Do(ctx, name, func(ctx context.Context) (string, error) {
		if err := w.Spend(ctx, p.takes); err != nil {
			return "", err
		}
		if err := w.fail(name, p.input); err != nil {
			return "", err
		}
		return p.answer, step.Note(ctx, posthouse.Note{
			Line: p.answer, Model: p.model, Input: p.input, Cost: p.cost,
			InputTokens: int64(120 + len(p.input)/4), OutputTokens: int64(12 + len(p.answer)/4),
		})
	})
}

// act does what was approved. The outcome is unknown only if the world says so.
func act[T any](ctx context.Context, w *World, what string, grant gate.Grant) (Receipt, error) {
	return gate.Act(ctx, what, grant, func(ctx context.Context, content T) (Receipt, error) {
		if err := w.fail(what, content); errors.Is(err, posthouse.ErrUnknown) {
			return Receipt{}, err
		} else if err != nil { // the bank says so
			return Receipt{}, gate.NotDone(err)
		}
		ctx = context.WithoutCancel(ctx) // what has begun is ended
		key, by := step.Key(ctx), gate.Granted(ctx).Decision.By
		if err := w.Spend(ctx, 700*time.Millisecond); err != nil {
			return Receipt{}, err
		}
		return Receipt{Number: fmt.Sprintf("R-%08x", crc32.ChecksumIEEE([]byte(key))), By: by}, w.Do(ctx, Deed{Key: key, What: what, Content: content, By: by})
	})
}

// refusal returns what became of a proposal that was not approved, "" if err is another error.
func refusal(err error) string {
	no, ok := errors.AsType[*posthouse.Error](err)
	if !ok || no.Decision == nil {
		return ""
	}
	d := no.Decision
	text := map[posthouse.Verdict]string{posthouse.Expire: "expired", posthouse.Cancel: "withdrawn"}[d.Verdict]
	if text == "" {
		text = "rejected by " + d.By
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

// object describes the members of what people may edit: names and their schemas, in turns. All are required.
func object(members ...string) json.RawMessage {
	schema, required := `{"type":"object","additionalProperties":false,"properties":{`, ""
	for i := 0; i < len(members); i += 2 {
		if i > 0 {
			schema, required = schema+",", required+","
		}
		schema += `"` + members[i] + `":` + members[i+1]
		required += `"` + members[i] + `"`
	}
	return json.RawMessage(schema + `},"required":[` + required + `]}`)
}

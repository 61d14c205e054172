package command

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/effect"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/task"
)

// An act is an effect under a grant that a program asks to begin.
type act struct {
	Name       string       `json:"name"`
	Grant      posthouse.ID `json:"grant"`      // the gate of its question that was approved
	Idempotent bool         `json:"idempotent"` // doing it again with the same key is safe
}

// An acted is what became of it: its result, or why it failed.
type acted struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Failed  string          `json:"failed"`
	NotDone bool            `json:"notDone"` // it did not happen; goes with Failed
}

// A License is what a program is to do, now that it is on record that it begins.
type License struct {
	Gate    posthouse.ID    `json:"gate"`    // licenses it by its decision
	Content json.RawMessage `json:"content"` // that was approved
	By      string          `json:"by"`      // who approved it
	Key     string          `json:"key"`     // of the effect: the same in all its attempts
}

// An openAct is a call of a scope's Act, which waits for what became of the effect.
type openAct struct {
	result chan acted
	ended  chan struct{}
	value  posthouse.Value // once it has ended
	err    error
}

// errNotEnded leaves open whether an effect happened.
var errNotEnded = &posthouse.Error{Code: posthouse.CodeUnknown, Message: "the program ended before it said what became of its effect"}

// errFailed is an effect's error as the program said it.
type errFailed string

func (e errFailed) Error() string { return string(e) }

// act begins an effect. One that is on record has its value.
func (d *dialogue) act(data []byte) (reply, error) {
	var a act
	if err := parse("act", data, &a); err != nil {
		return reply{}, err
	}
	if len(d.records.acts) > 0 {
		e := &posthouse.Error{Code: posthouse.CodeConflict, Field: "act", Message: "the program has begun an effect, and has not said what became of it"}
		e.Hint = `print {"acted":{"name":...}} first`
		return reply{}, e
	}
	if a.Grant.Validate() != nil {
		return reply{}, posthouse.Invalid("grant", "of effect %.40q must be the gate of an approved question", a.Name)
	}
	scope, err := d.scope()
	if err != nil {
		return reply{}, err
	}
	o := &openAct{result: make(chan acted), ended: make(chan struct{})}
	begun := make(chan *License, 1)
	over := d.records.over
	action := handler.Action{
		Use:  handler.Use{Name: a.Name, Grant: a.Grant, Idempotent: a.Idempotent},
		Fits: func(*posthouse.Gate) error { return nil },
		Run: func(ctx context.Context, g *posthouse.Gate) (posthouse.Value, error) {
			begun <- &License{Gate: g.ID, Content: g.Licensed(), By: g.Decision.By, Key: handler.Key(ctx)}
			select {
			case r := <-o.result:
				switch {
				case r.NotDone:
					return posthouse.Value{}, effect.MarkNotDone(errFailed(r.Failed))
				case r.Failed != "":
					return posthouse.Value{}, errFailed(r.Failed)
				}
				return posthouse.Value{Codec: posthouse.JSON.Name(), Data: r.Value}, nil
			case <-over:
				return posthouse.Value{}, errNotEnded
			}
		},
	}
	ctx := d.task.Context()
	go func() {
		defer close(o.ended)
		o.value, o.err = scope.Act(ctx, action)
	}()
	select {
	case l := <-begun:
		d.records.acts[a.Name] = o
		return reply{OK: true, Act: l}, nil
	case <-o.ended:
	}
	if o.err != nil {
		return reply{}, o.err
	}
	if o.value.Codec != posthouse.JSON.Name() {
		return reply{}, posthouse.Invalid("act", "%s is on record as %s: a handler in Go recorded it, and a program reads JSON only", a.Name, o.value.Codec)
	}
	return reply{OK: true, Value: o.value.Data}, nil
}

// acted ends an effect that was begun. One that does not fit leaves it open.
func (d *dialogue) acted(data []byte) (reply, error) {
	var r acted
	if err := parse("acted", data, &r); err != nil {
		return reply{}, err
	}
	o := d.records.acts[r.Name]
	if o == nil {
		e := posthouse.Invalid("acted", "is of effect %.200q, which the program did not begin", r.Name)
		e.Hint = `print {"act":{"name":...,"grant":...}} first: the effect may be on record`
		return reply{}, e
	}
	switch {
	case r.Failed != "" && len(r.Value) > 0:
		return reply{}, posthouse.Invalid("acted", "has a value and failed: an effect that did not act has no result")
	case r.NotDone && r.Failed == "":
		return reply{}, posthouse.Invalid("notDone", "goes with failed, which says why effect %.200q did not happen", r.Name)
	case len(r.Failed) > posthouse.MaxText:
		return reply{}, posthouse.TooLarge("failed", len(r.Failed), posthouse.MaxText)
	}
	var err error
	r.Value, err = compact(r.Value)
	if err != nil {
		return reply{}, err
	}
	if len(r.Value) > task.MaxStep {
		return reply{}, posthouse.TooLarge("effect "+r.Name, len(r.Value), task.MaxStep)
	}
	o.result <- r
	<-o.ended
	delete(d.records.acts, r.Name)
	var failed errFailed
	if errors.As(o.err, &failed) {
		return reply{OK: true}, nil
	}
	return reply{OK: o.err == nil}, o.err
}

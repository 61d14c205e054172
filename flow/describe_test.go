package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/runs"
	"github.com/posthouse/posthouse/store/memstore"
)

type packing struct {
	Order string `json:"order" doc:"its number"`
}

// TestDescribe describes a flow by the types of its function, and begins a run that somebody
// else goes on with.
func TestDescribe(t *testing.T) {
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f := flow.New("pack", func(_ context.Context, in packing) (int, error) { return len(in.Order), nil })
	if _, err := f.Open(l, &flow.Options{Questions: []runs.Question{{Name: ""}}}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a question without a name: %v", err)
	}
	app, err := f.Open(l, &flow.Options{Description: "Packs an order", Questions: []runs.Question{{Name: "size"}}})
	if err != nil {
		t.Fatal(err)
	}
	d := app.Describe()
	const input = `"type":"object","properties":{"order":{"type":"string","description":"its number"}},"additionalProperties":false`
	const want = `{"$schema":"https://json-schema.org/draft/2020-12/schema",` + input + `}`
	const state = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"input":{` + input + `,"description":"what the run began with"},` +
		`"output":{"type":"integer","format":"int64","description":"what the function returned, once it did"}},"additionalProperties":false}`
	if d.Name != "pack" || d.Kind != posthouse.ProgramFlow || d.Description != "Packs an order" || !d.Starts || len(d.Questions) != 1 || string(d.Input) != want || string(d.State) != state {
		t.Errorf("the flow is described as %+v, with input\n%s\nand state\n%s", d, d.Input, d.State)
	}
	var e *posthouse.Error
	if _, err := app.StartJSON(t.Context(), "p", json.RawMessage(`{"Order":7}`), nil); !errors.As(err, &e) || e.Field != "input.order" {
		t.Errorf("a number in place of text: %v", err)
	}
	h, err := app.StartJSON(t.Context(), "p", json.RawMessage(`{"order":"1234"}`), &posthouse.StartOptions{By: "ci"})
	if err != nil || h.Status != posthouse.StatusRunning || h.By != "ci" {
		t.Fatalf("head %+v, %v", h, err)
	}
	if _, err := app.StartJSON(t.Context(), "p", json.RawMessage(`{"order":"1234"}`), nil); !errors.Is(err, posthouse.ErrExists) {
		t.Errorf("begun again: %v", err)
	}
	if res, err := app.Resume(t.Context(), "p"); err != nil || res.Status != posthouse.StatusDone || res.Output != 4 {
		t.Errorf("whoever goes on has %+v, %v", res, err)
	}
}

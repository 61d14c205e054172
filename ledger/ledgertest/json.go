package ledgertest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

// ledgerDoubledJSON sends JSON that readers may understand differently to every function that
// takes JSON from outside.
func ledgerDoubledJSON(t *desk.T) {
	d := t.Desk(ledger.Options{})
	j := func(s string) posthouse.State { return posthouse.State{"s": {Codec: "json", Data: []byte(s)}} }
	root := d.MustSave(&posthouse.Checkpoint{Header: posthouse.Header{Thread: "t"}, State: j(`{"to":"alice"}`)})
	asked := 0
	gate := func(g posthouse.Gate) error {
		asked++
		_, err := d.Commit(t.Ctx, &ledger.Draft{Thread: fmt.Sprint("g", asked), Gates: []posthouse.Gate{g}, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, State: j(`1`),
		}})
		return err
	}
	decide := func(v posthouse.Verdict) func(string) error {
		id := d.Ask(fmt.Sprint("d", v), posthouse.Gate{Name: "ok?", Verdicts: []posthouse.Verdict{v}}).Gates[0].ID
		return func(s string) error {
			_, err := d.Decide(t.Ctx, id, posthouse.Decision{Verdict: v, By: "alice", Value: json.RawMessage(s)})
			return err
		}
	}
	doors := []struct {
		what, field string
		send        func(string) error
	}{
		{"a saved state", "part s", func(s string) error { _, err := d.Save(t.Ctx, root.Derive(j(s)), nil); return err }},
		{"a fork's state", "part s", func(s string) error {
			_, err := d.Fork(t.Ctx, root.ID, &ledger.ForkOptions{Replace: j(s)})
			return err
		}},
		{"a fork's patch", "part s", func(s string) error {
			_, err := d.Fork(t.Ctx, root.ID, &ledger.ForkOptions{Patch: j(s)})
			return err
		}},
		{"a fork's merge", "part s", func(s string) error {
			_, err := d.Fork(t.Ctx, root.ID, &ledger.ForkOptions{Merge: j(s)})
			return err
		}},
		{"a gate's payload", "payload", func(s string) error { return gate(posthouse.Gate{Name: "ok?", Payload: json.RawMessage(s)}) }},
		{"a gate's schema", "schema", func(s string) error {
			return gate(posthouse.Gate{Name: "ok?", Verdicts: []posthouse.Verdict{posthouse.Approve}, Schema: json.RawMessage(s)})
		}},
		{"an edit", "value", decide(posthouse.Edit)},
		{"a response", "value", decide(posthouse.Respond)},
		{"a signal", "value", func(s string) error {
			_, err := d.Signal(t.Ctx, "t", posthouse.Signal{Name: "paid", Value: json.RawMessage(s)})
			return err
		}},
		{"a value that is JSON already", "value", func(s string) error { _, err := posthouse.Encode(nil, json.RawMessage(s)); return err }},
		{"an opaque state", "value", func(s string) error { raw := json.RawMessage(s); _, err := posthouse.Opaque(nil, &raw); return err }},
	}
	for _, door := range doors {
		for _, bad := range []string{
			`{"to":"alice","to":"eve"}`, `{"a":[{"b":{"to":1,"t\u006f":2}}]}`, `{"to":"\ud800"}`, `{"to":"\udc00\ud800"}`, `{"\ud83d":1}`,
		} {
			err := door.send(bad)
			var e *posthouse.Error
			if !errors.Is(err, posthouse.ErrInvalid) || !errors.As(err, &e) || e.Field != door.field {
				t.Errorf("%s takes %s: %v", door.what, bad, err)
			}
		}
		if err := door.send(`{"to":"\ud83d\ude00","cc":{"to":"bob"},"lines":[{"to":1},{"to":2}]}`); err != nil {
			t.Errorf("%s takes no proper JSON: %v", door.what, err)
		}
	}
}

package ledger_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// stepsTo records values as steps before a checkpoint, one of them with it, and returns their events.
func stepsTo(t *testing.T, l *ledger.Ledger, thread string, values ...string) []*posthouse.Event {
	t.Helper()
	step := func(i uint32, data string) posthouse.Step {
		return posthouse.Step{Task: "1/n", Name: "read", Occurrence: i, Value: posthouse.Value{Codec: "json", Data: []byte(data)}}
	}
	d := &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning}}
	must.Get(l.Commit(t.Context(), d))(t)
	for i, data := range values[1:] {
		must.Get(l.Commit(t.Context(), &ledger.Draft{Thread: thread, Steps: []posthouse.Step{step(uint32(i+1), data)}}))(t)
	}
	c := must.Get(l.Commit(t.Context(), &ledger.Draft{
		Thread: thread, Steps: []posthouse.Step{step(0, values[0])},
		Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Node: "n", Status: posthouse.StatusReady},
	}))(t)
	return must.Get(ledger.Steps(t.Context(), l, c.Checkpoint))(t)
}

// TestStepResults: each result is read at its event's place, within a bound on all of them. A result that
// is gone or sealed says so, and a store that fails is an error.
func TestStepResults(t *testing.T) {
	store := memstore.New()
	l := must.Get(ledger.Open(store, nil))(t)
	large := `"` + strings.Repeat("x", 100) + `"`
	events := stepsTo(t, l, "t", `9007199254740993`, large, `"a"`, ``)
	read := func(most int) map[uint32]*ledger.StepResult {
		t.Helper()
		by := map[uint32]*ledger.StepResult{}
		for i, r := range must.Get(ledger.StepResults(t.Context(), l, events, most))(t) {
			switch s := events[i].Step; {
			case s != nil && (r == nil) == (s.Occurrence != 3):
				t.Errorf("step %d has the result %+v", s.Occurrence, r)
			case s != nil:
				by[s.Occurrence] = r
			case r != nil:
				t.Errorf("an event that is no step has the result %+v", r)
			}
		}
		return by
	}
	if all := read(1000); string(all[0].Value.Data) != `9007199254740993` || string(all[1].Value.Data) != large || string(all[2].Value.Data) != `"a"` || all[2].Value.Codec != "json" {
		t.Errorf("they are %+v", all)
	}
	if some := read(50); some[1].State != ledger.ResultLarge || some[1].Size != len(large) || some[1].Value.Data != nil || some[2].State != "" || some[0].State != "" {
		t.Errorf("of 50 bytes they are %+v", some)
	}
	if one := read(3); one[2].State != "" || one[0].State != ledger.ResultLarge {
		t.Errorf("of 3 bytes they are %+v", one)
	}

	for i, ev := range events {
		if ev.Step != nil && ev.Step.Occurrence == 2 {
			must.Get(store.Remove(t.Context(), posthouse.Removal{Thread: "t", Bodies: []posthouse.BodyRef{{Seq: events[i].Seq, Record: 0}}}))(t)
		}
	}
	if gone := read(1000); gone[2].State != ledger.ResultRemoved || gone[2].Size != 3 || string(gone[0].Value.Data) != `9007199254740993` {
		t.Errorf("after a removal they are %+v", gone)
	}
	if none := must.Get(ledger.StepResults(t.Context(), l, events[len(events):], 10))(t); len(none) != 0 {
		t.Errorf("of no events there are %d", len(none))
	}

	ring := keyring(t, "k1")
	events = stepsTo(t, over(t, store, ring), "sealed", `"secret"`)
	if r := read(1000)[0]; r.State != ledger.ResultSealed || r.Value.Data != nil || r.Size == 0 {
		t.Errorf("without its key it is %+v", r)
	}
	l = over(t, store, ring)
	if r := read(1000)[0]; !bytes.Equal(r.Value.Data, []byte(`"secret"`)) {
		t.Errorf("with its key it is %+v", r)
	}
	for name, s := range map[string]posthouse.Store{
		"fails":       failAt(store, 1),
		"changes one": &tampered{store, func(e *posthouse.Entry) { e.Header = []byte("{") }},
	} {
		if got, err := ledger.StepResults(t.Context(), must.Get(ledger.Open(s, nil))(t), events, 1000); err == nil {
			t.Errorf("a store that %s returns %+v", name, got)
		}
	}
}

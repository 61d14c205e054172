package slack_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/notify"
)

// Letters of another script are marked in messages, modals and replies, and a warning says so. A person edits the
// text as it is, with the warning below its input.
func TestMixedScripts(t *testing.T) {
	w := newWorkspace(t)
	h := open(t, w, app(t, w), notify.Endpoint{})
	g := h.ask(func(g *posthouse.Gate) {
		order(g)
		g.Text, g.Schema = "Pay Аcme?\nnow", nil
		g.Payload = json.RawMessage(`{"tо":"Аcme","amount":1}`)
	})
	const mark, mixed = "‹Cyrillic А›cme", "etters of another script stand inside of words: ‹Cyrillic А› ‹Cyrillic о›"
	m := h.message(1)
	if all := m.everything(); !strings.Contains(m.Text, "Pay "+mark) || strings.Count(all, mark) < 2 || !strings.Contains(all, "Warning: l"+mixed) || strings.Contains(all, "Аcme") || strings.Contains(all, "tо") {
		t.Errorf("the message is %q\n%s", m.Text, all)
	}
	h.press(m, "form.edit", "U0001")
	modal := h.modal(1)
	in := modal.input("t‹Cyrillic о›")
	if in.Element.InitialValue != "Аcme" || in.Hint == nil || !strings.Contains(in.Hint.Text, "inside of words: ‹Cyrillic А›;") || !strings.Contains(modal.everything(), "Warning: l"+mixed) {
		t.Errorf("the input is %+v, the modal says\n%s", in, modal.everything())
	}
	if r := h.submit(modal, "U0001", nil); !strings.Contains(r.Errors["value0"], "Nothing is changed") {
		t.Errorf("without a change it says %+v", r)
	}
	must.Get(h.led.Commit(t.Context(), &ledger.Draft{
		Thread:     g.Thread,
		Checkpoint: &posthouse.Change{Parent: g.Checkpoint, Status: posthouse.StatusWaiting, Graph: "refunds"},
		Gates:      []posthouse.Gate{{Name: g.Name, Text: "Pay Асme\u202e?", Payload: json.RawMessage(`{"tо":"pаypal","amount":1}`), RequestedBy: "dora", Supersedes: g.ID}},
	}))(t)
	h.message(2)
	h.until(func() bool { return w.posted()[0].Edits == 1 })
	h.press(m, "approve", "U0001")
	told := h.told(1).Text
	for _, want := range []string{"t‹Cyrillic о›: " + mark + " → p‹Cyrillic а›ypal", "‹Cyrillic А›‹Cyrillic с›me‹U+202E›"} {
		if !strings.Contains(told, want) {
			t.Errorf("an outdated button says %q, and not %q", told, want)
		}
	}
}

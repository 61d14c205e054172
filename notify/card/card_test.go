package card_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/notify/card"
)

func TestCards(t *testing.T) {
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	g := &notify.Gate{
		Name: "refund", Intent: "Refund order 7?", Text: "Refund order 7?\nIt is late.", ExpiresAt: at, RequestedBy: "bob", Link: "https://p.example.com/gates/g",
		Fields: []gate.BindingField{{Name: "amount", Label: "Amount", Value: json.RawMessage(`9007199254740993`)}, {Name: "to", Label: "to", Value: json.RawMessage(`"eve"`)}},
	}
	c := card.Of(&notify.Event{Type: notify.GateOpened, Data: notify.Data{Thread: "t", Program: "refunds", Gate: g}}, nil)
	if c.Title != "Refund order 7?" || c.Text != "It is late." || !c.Whole || c.Link != g.Link || fmt.Sprint(c.Fields) != "[{Amount (amount) 9007199254740993} {to eve}]" ||
		fmt.Sprint(c.Facts) != "[{Question refund} {Asked by bob} {Decide by 2026-11-26 12:00 UTC} {Program refunds} {Thread t}]" {
		t.Errorf("a question is %+v", c)
	}
	d := &notify.Decision{Verdict: posthouse.Reject, By: "alice", Reason: "too\nlate", At: at}
	if c := card.Of(&notify.Event{Type: notify.GateDecided, Data: notify.Data{Gate: g, Decision: d}}, nil); c.Outcome != "Rejected by alice, 2026-11-26 12:00 UTC: too late" {
		t.Errorf("a decision is %q", c.Outcome)
	}
	gone := &notify.Decision{Verdict: posthouse.Cancel, By: posthouse.RuntimeActor, Successor: "g2", At: at}
	if s := card.Outcome(gone); s != "Withdrawn, 2026-11-26 12:00 UTC. It was asked again, since what it asks has changed" {
		t.Errorf("a withdrawn one is %q", s)
	}
	moved := card.Of(&notify.Event{Type: notify.GateAssigned, Data: notify.Data{Gate: g, Assignment: &notify.Assignment{By: "alice", To: []string{"carl"}, Reason: "away"}}}, nil)
	if moved.News != "It is now for carl to decide, says alice: away" {
		t.Errorf("an assignment is %q", moved.News)
	}
	failed := card.Of(&notify.Event{Type: notify.ThreadFailed, Data: notify.Data{Program: "refunds", Thread: "t", Run: &notify.Run{Status: posthouse.StatusFailed, Node: "pay", Error: "no money"}}}, nil)
	if failed.Title != "refunds failed at pay" || failed.Text != "no money" {
		t.Errorf("a failure is %+v", failed)
	}
	if c := card.Of(&notify.Event{Type: notify.Test}, nil); c.Title != "This is a test" {
		t.Errorf("a test is %+v", c)
	}
}

// A text that is not all shown says so, and the card is not whole.
func TestCutsAreSeen(t *testing.T) {
	long := strings.Repeat("ä", 3000)
	for name, g := range map[string]*notify.Gate{
		"title": {Intent: long, Text: long},
		"text":  {Intent: "Pay?", Text: "Pay?\n" + long},
		"value": {Intent: "Pay?", Fields: []gate.BindingField{{Name: "a", Label: "a", Value: json.RawMessage(`"` + long + `"`)}}},
		"count": {Intent: "Pay?", Fields: make([]gate.BindingField, 41)},
		"gate":  {Intent: "Pay?", Partial: true},
	} {
		c := card.Of(&notify.Event{Data: notify.Data{Gate: g}}, nil)
		if c.Whole {
			t.Errorf("%s: %d bytes of title, %d of text and %d fields are whole", name, len(c.Title), len(c.Text), len(c.Fields))
		}
		if name == "value" && !strings.HasSuffix(c.Fields[0].Value, " … (cut: it has 3000 characters)") {
			t.Errorf("a long value ends with %q", c.Fields[0].Value[len(c.Fields[0].Value)-60:])
		}
	}
}

// TestReminder: a reminder says that the question still waits, and since when.
func TestReminder(t *testing.T) {
	e := &notify.Event{Type: notify.GateReminded, Data: notify.Data{Gate: &notify.Gate{Name: "refund"}, Reminder: &notify.Reminder{To: []string{"alice"}}}}
	if c := card.Of(e, nil); c.News != "This question still waits" || c.Title != "Question refund" {
		t.Errorf("it reads %+v", c)
	}
	e.Data.Gate.CreatedAt = time.Date(2026, 11, 26, 9, 5, 0, 0, time.FixedZone("", 3600))
	if c := card.Of(e, nil); c.News != "This question still waits, since 2026-11-26 08:05 UTC" {
		t.Errorf("it reads %q", c.News)
	}
}

func TestValues(t *testing.T) {
	for in, want := range map[string]string{
		`250.50`: "250.50", `"250.50"`: `"250.50"`, `"eve"`: "eve", `""`: `""`, `" x"`: `" x"`, `"true"`: `"true"`, `null`: "null",
		`{"a": [1,2]}`: `{"a": [1,2]}`, "\"a\u202eb\"": "a‹U+202E›b", `"a\u202eb"`: "a‹U+202E›b", `"two\nlines"`: "two\nlines",
	} {
		if got := card.Value(json.RawMessage(in)); got != want {
			t.Errorf("%s is shown as %q, want %q", in, got, want)
		}
	}
}

// No content makes a card with a hidden character, or a title with more than one line.
// TestWarning: what people would take for something else is marked in each text of a card, and the card says so.
func TestWarning(t *testing.T) {
	g := &notify.Gate{
		Name: "pay", Intent: "Pay Аcme GmbН?", Text: "Pay Аcme GmbН?\nnow" + strings.Repeat("\n", 300) + "to eve", RequestedBy: "bоb",
		Fields: []gate.BindingField{{Name: "to", Label: "tо", Value: json.RawMessage(`"pаypal"`)}, {Name: "all", Label: "all", Value: json.RawMessage(`{"to":"\u0430cme\u202e","x":"x\nМосква"}`)}},
	}
	c := card.Of(&notify.Event{Data: notify.Data{Gate: g, Assignment: &notify.Assignment{To: []string{"аlice"}}}}, nil)
	for got, want := range map[string]string{
		c.Title:           "Pay ‹Cyrillic А›cme Gmb‹Cyrillic Н›?",
		c.Text:            "now\n‹299 empty lines›\nto eve",
		c.News:            "It is now for ‹Cyrillic а›lice to decide",
		c.Fields[0].Label: "t‹Cyrillic о› (to)",
		c.Fields[0].Value: "p‹Cyrillic а›ypal",
		c.Fields[1].Value: `{"to":"\u0430cme\u202e","x":"x\nМосква"}`, // escapes are seen
		c.Facts[1].Value:  "b‹Cyrillic о›b",
		c.Warning: "Warning: characters that are not seen stand here: ‹U+202E›; letters of another script stand inside of words: " +
			"‹Cyrillic А› ‹Cyrillic Н› ‹Cyrillic о› ‹Cyrillic а›; they can make one text look like another; text goes on after what shows nothing: ‹299 empty lines›.",
	} {
		if got != want {
			t.Errorf("a card says %q, want %q", got, want)
		}
	}
	if !c.Whole {
		t.Error("nothing is cut, and the card is not whole")
	}
	if c := card.Of(&notify.Event{Data: notify.Data{Gate: &notify.Gate{Intent: "Pay Ромашка?"}}}, nil); c.Warning != "" {
		t.Errorf("words of one script have the warning %q", c.Warning)
	}
}

func FuzzOf(f *testing.F) {
	f.Add("Refund?\nnow", `{"a":1}`, "why")
	f.Fuzz(func(t *testing.T, question, payload, reason string) {
		g := posthouse.Gate{Name: "q", Text: question, Payload: json.RawMessage(payload)}
		shown := &notify.Gate{Name: "q", Intent: gate.Intent(&g), Text: question, Fields: gate.Binding(&g)}
		c := card.Of(&notify.Event{Data: notify.Data{Gate: shown, Decision: &notify.Decision{Reason: reason}}}, nil)
		all := []string{c.Title, c.Text, c.Outcome}
		for _, x := range c.Fields {
			all = append(all, x.Label, x.Value)
		}
		if marks := text.HiddenIn(all...); len(marks) > 0 {
			t.Errorf("the card of %q, %q has %v", question, payload, marks)
		}
		for _, s := range append(all, c.Warning) {
			if v := text.Visible(s); v != s && !strings.Contains(s, "…") { // a mark may be cut
				t.Errorf("the card of %q, %q has %q, which is shown as %q", question, payload, s, v)
			}
		}
		if strings.ContainsAny(c.Title+c.Outcome, "\n\r\t") {
			t.Errorf("the title is %q, the outcome %q", c.Title, c.Outcome)
		}
	})
}

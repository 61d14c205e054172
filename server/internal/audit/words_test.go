package audit

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/transfer"
)

// TestActsAreToldInWords has people's acts by their questions, an effect once, and no wait of the runtime.
func TestActsAreToldInWords(t *testing.T) {
	question := &posthouse.Gate{ID: "gate-q", Name: "refund", Text: "\nRefund 24.50 EUR?\nmore", RequestedBy: "shop"}
	w := &walk{
		ctx: t.Context(), gates: map[posthouse.ID]*posthouse.Gate{
			"gate-retry":  {ID: "gate-retry", Name: "$retry-1", Kind: posthouse.GateTimer},
			"gate-signal": {ID: "gate-signal", Name: "signal:go", Kind: posthouse.GateSignal, Signal: "go"},
			"gate-task":   {ID: "gate-task", Name: "transcribe", Kind: posthouse.GateTask, Call: &posthouse.TaskCall{Task: "transcribe"}},
			"gate-less":   {ID: "gate-less", Name: "pay", Text: "Pay 13.00 EUR?", Supersedes: "gate-q"},
			"gate-gone":   nil,
		}, begun: map[uint64]bool{9: true}, entryNow: &ledger.LogEntry{},
	}
	decision := func(gate posthouse.ID, v posthouse.Verdict, by, reason string) *posthouse.Event {
		return &posthouse.Event{Kind: posthouse.RecordDecision, Decision: &posthouse.Decision{Gate: gate, Verdict: v, By: by, Reason: reason}}
	}
	step := func(seq uint64, name string, effect posthouse.Effect, grant posthouse.ID) *posthouse.Event {
		return &posthouse.Event{Kind: posthouse.RecordStep, Seq: seq, Step: &posthouse.StepInfo{Name: name, Effect: effect, Grant: grant}}
	}
	signal := func(thread, name, value string) *posthouse.Event {
		return &posthouse.Event{Kind: posthouse.RecordSignal, Thread: thread, Signal: &posthouse.Signal{Thread: thread, Name: name, By: "ann", Value: json.RawMessage(value)}}
	}
	change := func(h posthouse.Header) *posthouse.Event {
		h.By = "ann"
		return &posthouse.Event{Kind: posthouse.RecordCheckpoint, Checkpoint: &h}
	}
	paused := decision("gate-task", posthouse.Cancel, "worker:m", "paused: who speaks")
	paused.Decision.Successor = "gate-next"
	instead := decision("gate-q", posthouse.Approve, "bob", "")
	instead.Decision.For = "carol"
	for _, c := range []struct {
		event *posthouse.Event
		want  string // kind, by, did, what, reason; "" is no act
	}{
		{&posthouse.Event{Kind: posthouse.RecordGate, Gate: question}, "question|shop|asked|Refund 24.50 EUR?|"},
		{decision("gate-q", posthouse.Expire, posthouse.RuntimeActor, "late"), "decision|posthouse|let expire|Refund 24.50 EUR?|late"},
		{decision("gate-q", posthouse.Approve, "bob", "fine"), "decision|bob|approved|Refund 24.50 EUR?|fine"},
		{decision("gate-q", posthouse.Edit, "bob", "less"), "decision|bob|edited|Refund 24.50 EUR?|less"},
		{decision("gate-less", posthouse.Approve, "bob", "edited gate gate-q to this. less"), "decision|bob|approved by an edit|Pay 13.00 EUR?|less"},
		{decision("gate-less", posthouse.Approve, "bob", "edited gate gate-x to this. "), "decision|bob|approved|Pay 13.00 EUR?|edited gate gate-x to this. "},
		{decision("gate-q", posthouse.Approve, "bob", "edited gate gate-q to this. "), "decision|bob|approved|Refund 24.50 EUR?|edited gate gate-q to this. "},
		{instead, "decision|bob|approved in place of carol|Refund 24.50 EUR?|"},
		{decision("gate-gone", posthouse.Reject, "bob", ""), "decision|bob|rejected|question gate-gone|"},
		{decision("gate-gone", posthouse.Expire, posthouse.RuntimeActor, ""), ""},
		{decision("gate-retry", posthouse.Expire, posthouse.RuntimeActor, "no decision by 12:00"), ""},
		{decision("gate-signal", posthouse.Respond, "ann", ""), ""},
		{decision("gate-signal", posthouse.Cancel, "ann", ""), "decision|ann|withdrew|the wait for signal go|"},
		{decision("gate-task", posthouse.Reject, "worker:m", "no sound"), "task|worker:m|failed|task transcribe|no sound"},
		{decision("gate-task", posthouse.Respond, "worker:m", ""), "task|worker:m|finished|task transcribe|"},
		{paused, "task|worker:m|paused|task transcribe|who speaks"},
		{&posthouse.Event{Kind: posthouse.RecordVote, Vote: &posthouse.Decision{Gate: "gate-q", Verdict: posthouse.Reject, By: "ann"}}, "vote|ann|voted to reject|Refund 24.50 EUR?|"},
		{&posthouse.Event{Kind: posthouse.RecordAssignment, Assignment: &posthouse.Assignment{Gate: "gate-q", By: "ann", To: []string{"bob"}}}, "delegation|ann|delegated|to bob: Refund 24.50 EUR?|"},
		{&posthouse.Event{Kind: posthouse.RecordAssignment, Assignment: &posthouse.Assignment{Gate: "gate-q", By: "ann", To: []string{"ann"}, TakesBack: 7, Reason: "a typo"}}, "delegation|ann|took back what they delegated|Refund 24.50 EUR?|a typo"},
		{step(8, "agent:cashier.pay>refund", posthouse.EffectExternal, "gate-q"), "effect||acted|refund, approved by bob: Refund 24.50 EUR?|"},
		{step(8, "agent:cashier.pay>refund>$use", posthouse.EffectExternal, "gate-q"), ""},
		{step(9, "agent:cashier.pay>refund>$use", posthouse.EffectExternal, "gate-q"), "effect||began|refund, approved by bob: Refund 24.50 EUR?|there is no result on record"},
		{step(8, "note", posthouse.EffectRead, ""), ""},
		{signal("t", "go", `"now"`), "signal|ann|sent|the signal go: now|"},
		{signal("t", posthouse.SignalHold, `{"reason":"court"}`), "signal|ann|held|the thread|court"},
		{signal("t", transfer.SignalCopied, `{"thread":"refund-8829"}`), "signal|ann|copied|thread refund-8829|"},
		{signal(substitutes, "substitutions", `{"named":{"by":"carol","to":"bob","from":"2026-11-27T00:00:00Z","until":"2026-11-28T00:00:00Z","reason":"leave"}}`), "signal|ann|named a substitute|bob in place of carol, from 2026-11-27 00:00 UTC until 2026-11-28 00:00 UTC|leave"},
		{signal(authlog.Thread, string(authlog.Refused), `{"count":12000,"of":[{"name":"2001:db8::/64","count":11000}],"others":1000}`), "refusal|ann|was refused|12000 times: 2001:db8::/64 11000, others 1000|"},
		{signal(authlog.Thread, string(authlog.TokenMade), `{"person":"ci","role":"worker","groups":["gpu"]}`), "token|ann|made a token|ci · worker · groups gpu|"},
		{change(posthouse.Header{Kind: posthouse.KindFork, Branch: "fork-2", ParentSeq: 12}), "change|ann|forked|branch fork-2 from #12|"},
		{noting(change(posthouse.Header{Kind: posthouse.KindFork, Branch: "fork-2", ParentSeq: 12}), "it was a holiday"), "change|ann|forked|branch fork-2 from #12|it was a holiday"},
		{noting(change(posthouse.Header{Kind: posthouse.KindWait, Branch: "fork-2"}), "it was a holiday"), "change|ann|asked again|branch fork-2|it was a holiday"},
		{change(posthouse.Header{Kind: posthouse.KindCancel, Branch: posthouse.MainBranch, Error: "it turned up"}), "change|ann|cancelled|the run|it turned up"},
		{&posthouse.Event{Kind: posthouse.RecordRelease, Release: &posthouse.ReleaseInfo{Version: 2, By: "ann", Reason: "done"}}, "release|ann|released|version 2 of the thread|done"},
	} {
		c.event.At = time.Unix(1, 0)
		if c.event.Gate != nil {
			w.know(c.event.Gate)
		}
		got := ""
		act, err := w.act(c.event)
		if err == nil && act != nil {
			err = w.tell(act)
			got = act.Kind + "|" + act.By + "|" + act.Did + "|" + act.What + "|" + act.Reason
		}
		if err != nil || got != c.want {
			t.Errorf("%s is told as %q, %v; want %q", c.event.Kind, got, err, c.want)
		}
	}
}

// TestWithdrawalsSayWhoCancelled has older records, which say of a cancelled branch that it went on.
func TestWithdrawalsSayWhoCancelled(t *testing.T) {
	const wentOn = "the branch went on without it"
	for _, c := range []struct{ kind, branch, by, reason, want string }{
		{posthouse.KindCancel, posthouse.MainBranch, posthouse.RuntimeActor, wentOn, "the branch was cancelled by ann: called off"},
		{posthouse.KindCancel, posthouse.MainBranch, posthouse.RuntimeActor, "the thread was released", "the thread was released"},
		{posthouse.KindCancel, posthouse.MainBranch, "bob", wentOn, wentOn},
		{posthouse.KindCancel, "fork-1", posthouse.RuntimeActor, wentOn, wentOn},
		{posthouse.KindSave, posthouse.MainBranch, posthouse.RuntimeActor, wentOn, wentOn},
	} {
		entry := &ledger.LogEntry{}
		entry.Records = append(entry.Records, posthouse.Record{Checkpoint: &posthouse.Header{Kind: c.kind, Branch: c.branch, By: "ann", Error: "called off"}})
		gates := map[posthouse.ID]*posthouse.Gate{"gate-q": {ID: "gate-q", Name: "refund", Branch: posthouse.MainBranch}}
		w := &walk{ctx: t.Context(), gates: gates, entryNow: entry}
		d := &posthouse.Decision{Gate: "gate-q", Verdict: posthouse.Cancel, By: c.by, Reason: c.reason}
		act, err := w.act(&posthouse.Event{Kind: posthouse.RecordDecision, Decision: d})
		if err == nil {
			err = w.tell(act)
		}
		if err != nil || act.Reason != c.want {
			t.Errorf("a withdrawal with a %s of %s is told as %+v, %v; want %q", c.kind, c.branch, act, err, c.want)
		}
	}
}

// TestCellsAreNoFormulas has the first character of a formula after an apostrophe.
func TestCellsAreNoFormulas(t *testing.T) {
	for text, want := range map[string]string{"=1+1": "'=1+1", "@x": "'@x", "-1": "'-1", "+1": "'+1", "\tx": "'\tx", "a=1": "a=1", "": ""} {
		if got := plain(text); got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
}

// noting puts a note on an event.
func noting(e *posthouse.Event, line string) *posthouse.Event {
	e.Notes = []posthouse.Note{{Line: line}}
	return e
}

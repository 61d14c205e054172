package tree

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
)

func TestDraw(t *testing.T) {
	at := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	cp := func(id, parent, branch, kind, agent string, st posthouse.Status, seq uint64) *posthouse.Header {
		return &posthouse.Header{
			ID: posthouse.ID(id), Parent: posthouse.ID(parent), Branch: branch, Kind: kind, Agent: agent, Status: st,
			Seq: seq, CreatedAt: at.Add(time.Duration(seq) * time.Second),
		}
	}
	th := &Thread{
		Checkpoints: []*posthouse.Header{
			cp("a", "", "main", posthouse.KindWait, "analyzer", posthouse.StatusWaiting, 1),
			cp("b", "a", "main", posthouse.KindNode, "approver", posthouse.StatusDone, 3),
			cp("c", "a", "what-if", posthouse.KindFork, "", posthouse.StatusSaved, 4),
			cp("d", "c", "what-if", posthouse.KindUpdate, "", posthouse.StatusRunning, 5),
			cp("e", "c", "deep", posthouse.KindFork, "", posthouse.StatusSaved, 6),
			cp("f", "e", "deep", posthouse.KindUpdate, "", posthouse.StatusSaved, 7),
		},
		Gates: []*posthouse.Gate{{
			ID: "g", Checkpoint: "a", Name: "refund", Text: "Refund \x1b[2Jorder?",
			Decision: &posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Reason: "fine", At: at.Add(2 * time.Second)},
		}},
		Heads: map[string]posthouse.ID{"main": "b", "what-if": "d", "deep": "f"},
	}
	var out bytes.Buffer
	Draw(&term.Term{Out: &out}, th)
	want := strings.TrimPrefix(`
● a  wait analyzer  waiting  2026-11-21T04:00:01Z
│ ? g  refund: Refund ‹U+001B›[2Jorder?
│ ✓ approved by alice, 2026-11-21T04:00:02Z: fine
├─● c  fork           saved    2026-11-21T04:00:04Z
│ ├─● e  fork           saved    2026-11-21T04:00:06Z
│ │ ● f  update         saved    2026-11-21T04:00:07Z  [deep]
│ ● d  update         running  2026-11-21T04:00:05Z  [what-if]
● b  node approver  done     2026-11-21T04:00:03Z  [main]
`, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestDecisionNamesWhoSentIt(t *testing.T) {
	got := Decision(&posthouse.Decision{Verdict: posthouse.Reject, By: "alice", Actor: "ops"})
	if got != "✗ rejected by alice (sent by ops)" {
		t.Errorf("got %q", got)
	}
}

func TestGateOfSeveralPeople(t *testing.T) {
	at := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	Draw(&term.Term{Out: &out}, &Thread{
		Checkpoints: []*posthouse.Header{{ID: "a", Branch: "main", Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Seq: 1, CreatedAt: at}},
		Gates: []*posthouse.Gate{{
			ID: "g", Checkpoint: "a", Name: "refund", Quorum: &posthouse.Quorum{Need: 2},
			Votes: []posthouse.Decision{{Verdict: posthouse.Approve, By: "dave", For: "bob", At: at}},
			Assignments: []posthouse.Assignment{
				{By: "bob", Actor: "ops", To: []string{"dave"}, At: at, Reason: "away"},
				{By: "posthouse", To: []string{"boss", "vice"}, Escalation: true, At: at},
			},
		}},
	})
	for _, want := range []string{
		"  bob handed it to dave (sent by ops), 2026-11-21T04:00:00Z: away\n",
		"  escalated to boss, vice, 2026-11-21T04:00:00Z\n",
		"  vote: ✓ approved by dave for bob, 2026-11-21T04:00:00Z\n",
		"  approvals missing: 1\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestDrawTellsOfSteps(t *testing.T) {
	at := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	h := &posthouse.Header{ID: "a", Branch: "main", Kind: posthouse.KindNode, Node: "plan", Status: posthouse.StatusDone, Seq: 3, CreatedAt: at, Began: at.Add(-90500 * time.Millisecond), Attempts: 1}
	th := &Thread{Checkpoints: []*posthouse.Header{h}, Steps: []Step{
		{&posthouse.Event{At: at, Step: &posthouse.StepInfo{Name: "ask>$note"}, Notes: []posthouse.Note{{Line: "gave up\x1b[2J"}}}, "a"},
		{&posthouse.Event{
			At: at, Step: &posthouse.StepInfo{Name: "ask", Occurrence: 1, Began: at.Add(-1500 * time.Millisecond), Attempts: 3}, LastError: "503",
			Notes: []posthouse.Note{{Line: "asks", Model: "m-1", InputTokens: 812, OutputTokens: 96, Cost: "0.0042 USD", Input: json.RawMessage(`9007199254740993`), Values: map[string]any{"t": json.RawMessage("0.2")}}},
		}, "a"},
		{&posthouse.Event{At: at, Step: &posthouse.StepInfo{Name: "$attempt"}, LastError: "504"}, "a"},
		{&posthouse.Event{At: at, Checkpoint: h}, "a"},
	}}
	notes := `
● a  node plan  done  2026-11-21T04:00:00Z
  note  gave up‹U+001B›[2J
  note  asks  m-1  812 tokens in, 96 out  0.0042 USD  input 9007199254740993  t 0.2
`
	times := `
● a  node plan  done  2026-11-21T04:00:00Z
  note  gave up‹U+001B›[2J
  step ask[1]  1.5s  attempt 3 after: 503
  note  asks  m-1  812 tokens in, 96 out  0.0042 USD  input 9007199254740993  t 0.2
  step $attempt  failed: 504
  took 1m31s
`
	for want, all := range map[string]bool{notes: false, times: true} {
		th.Times = all
		var out bytes.Buffer
		Draw(&term.Term{Out: &out}, th)
		if "\n"+out.String() != want {
			t.Errorf("got\n%s\nwant%s", out.String(), want)
		}
	}
}

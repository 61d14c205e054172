package tree

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/app/internal/term"
	"github.com/posthouse/posthouse/grants"
)

// An effect's line names its decision and its person; a question that changed says how.
func TestDrawEffects(t *testing.T) {
	at := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	ok := &posthouse.Decision{Gate: "h", Verdict: posthouse.Edit, By: "alice", At: at}
	th := &Thread{
		Checkpoints: []*posthouse.Header{
			{ID: "a", Branch: "main", Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Seq: 1, CreatedAt: at},
			{ID: "b", Parent: "a", Branch: "main", Kind: posthouse.KindNode, Status: posthouse.StatusDone, Seq: 6, CreatedAt: at},
		},
		Gates: []*posthouse.Gate{
			{ID: "g", Checkpoint: "a", Name: "pay", Text: "Pay 10?", Payload: json.RawMessage(`{"amount":10,"to":"x"}`)},
			{ID: "h", Checkpoint: "a", Name: "pay", Text: "Pay 99?", Payload: json.RawMessage(`{"amount":99,"to":"x"}`), Supersedes: "g", Decision: ok},
		},
		Effects: []Effect{
			{Use: grants.Use{Branch: "main", Name: "transfer", Grant: "h", Status: grants.Executed, First: 4}, Decision: ok},
			{Use: grants.Use{Branch: "main", Name: "mail", Occurrence: 2, Status: grants.Executed, First: 6}},
			{Use: grants.Use{Branch: "main", Name: "ship", Grant: "gone", Status: grants.Unknown, Failed: 1, First: 7}},
		},
	}
	var out bytes.Buffer
	Draw(&term.Term{Out: &out}, th)
	want := strings.TrimPrefix(`
● a  wait  waiting  2026-11-21T04:00:00Z
│ ? g  pay: Pay 10?
│ ? h  pay: Pay 99?
│   asked again: what is asked has changed since g
│     - Pay 10?
│     + Pay 99?
│     /amount
│     - 10
│     + 99
│ ✓ approved with edits by alice, 2026-11-21T04:00:00Z
│ → transfer  executed, ✓ approved with edits by alice, 2026-11-21T04:00:00Z  (h)
│ → mail[2]  executed, without a grant
● b  node  done     2026-11-21T04:00:00Z
  → ship  outcome unknown (attempts that did not act: 1), under gone
`, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

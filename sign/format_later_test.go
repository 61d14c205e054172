package sign_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/inbox"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// laterPath has a thread with all that formats 2 to 5 added, kept for ever as the first one is.
const laterPath = "testdata/later.json"

func readLater(t testing.TB) *goldenFile {
	t.Helper()
	g := &goldenFile{}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(laterPath))(t), g))
	return g
}

// TestLaterIsWritten writes the second golden file, when asked and if there is no such file.
func TestLaterIsWritten(t *testing.T) {
	if _, err := os.Stat(laterPath); err == nil || !*update {
		return
	}
	key, store, c := goldenKey(t), memstore.New(), newClock()
	l := openLedger(t, store, key, c.Now)
	laterThread(t, l, c)
	data := must.Get(json.MarshalIndent(goldenOf(t, l, store, key), "", "\t"))(t)
	must.Do(t, os.WriteFile(laterPath, append(data, '\n'), 0o644))
}

// laterThread tells stories of steps and nodes, restarts one, asks with reminders, and has the
// questions handed on, taken back, set aside, voted on and decided.
func laterThread(t testing.TB, l *ledger.Ledger, c *clock) {
	t.Helper()
	ctx := t.Context()
	const thread = "order-7"
	story := posthouse.Story{Took: 1500 * time.Millisecond, Attempts: 2, Error: "the bank did not answer", Notes: []posthouse.Note{{Line: "asked the bank again", Model: "m-1", Cost: "0.0042 USD"}}}
	commitDraft := func(d *ledger.Draft) *posthouse.Committed {
		t.Helper()
		d.Thread = thread
		return must.Get(l.Commit(ctx, d))(t)
	}
	start := commitDraft(&ledger.Draft{Checkpoint: &posthouse.Change{Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"pay"}, Parts: []posthouse.Part{{Name: "n", Data: []byte("1")}}}})
	step := posthouse.Step{Task: "1/pay", Name: "ask", Effect: posthouse.EffectRead, Value: posthouse.Value{Codec: "json", Data: []byte(`"yes"`)}, Story: story}
	commitDraft(&ledger.Draft{Steps: []posthouse.Step{step}})
	step.Occurrence = 1
	expires := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	wait := commitDraft(&ledger.Draft{
		Head: &start.Checkpoint.ID, Steps: []posthouse.Step{step},
		Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "pay", Next: []string{"pay"}, Story: posthouse.Story{Took: time.Second, Attempts: 1}},
		Gates: []posthouse.Gate{
			{Name: "pay", Task: "1/pay", Text: "Pay?", Payload: json.RawMessage(`{"amount":12.5}`), Assignees: []string{"alice", "bob"}, Quorum: &posthouse.Quorum{Need: 2}, ExpiresAt: expires, Remind: []time.Time{expires.Add(-2 * time.Hour), expires.Add(-time.Hour)}},
			{ID: "my-gate", Name: "audit", Task: "1/pay", Occurrence: 1, Assignees: []string{"dave"}},
		},
	})
	pay := wait.Gates[0].ID
	must.Get(l.Delegate(ctx, pay, posthouse.Delegation{By: "alice", To: "carol"}))(t)
	must.Get(inbox.Hide(ctx, l, pay, inbox.Snooze{By: "bob", Until: expires.Add(-time.Minute), Reason: "waits for the invoice"}))(t)
	must.Get(inbox.Show(ctx, l, pay, inbox.Snooze{By: "bob"}))(t)
	must.Get(l.TakeBack(ctx, pay, posthouse.Delegation{By: "alice", Reason: "is back"}))(t)
	must.Get(l.Delegate(ctx, "my-gate", posthouse.Delegation{By: "dave", To: "nobody-xyz"}))(t)
	must.Get(l.TakeBack(ctx, "my-gate", posthouse.Delegation{By: "dave", Actor: "olga"}))(t)
	c.now = expires.Add(-90 * time.Minute)
	must.Get(commit.Remind(ctx, l.Core(), pay))(t)
	must.Get(l.Decide(ctx, pay, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}))(t)
	must.Get(l.Decide(ctx, pay, posthouse.Decision{Verdict: posthouse.Approve, By: "bob"}))(t)
	must.Get(l.Decide(ctx, "my-gate", posthouse.Decision{Verdict: posthouse.Reject, By: "dave"}))(t)
	must.Get(l.RestartStep(ctx, wait.Checkpoint.ID, nil))(t)
}

// settledPath has a thread with what format 6 added.
const settledPath = "testdata/settled.json"

func readSettled(t testing.TB) *goldenFile {
	t.Helper()
	g := &goldenFile{}
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(settledPath))(t), g))
	return g
}

// TestSettledIsWritten writes the third golden file, when asked and if there is no such file.
func TestSettledIsWritten(t *testing.T) {
	if _, err := os.Stat(settledPath); err == nil || !*update {
		return
	}
	key, store, c := goldenKey(t), memstore.New(), newClock()
	l := openLedger(t, store, key, c.Now)
	settledThread(t, l)
	data := must.Get(json.MarshalIndent(goldenOf(t, l, store, key), "", "\t"))(t)
	must.Do(t, os.WriteFile(settledPath, append(data, '\n'), 0o644))
}

// settledThread asks about three effects with an unknown outcome: one happened, one is voted on and done
// again, one is given up.
func settledThread(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	ctx := t.Context()
	about := func(effect string, number int, q *posthouse.Quorum) posthouse.Gate {
		return posthouse.Gate{
			Name: effect + ">outcome", Kind: posthouse.GateOutcome, Task: "1/pay", Verdicts: posthouse.SettleVerdicts(), Quorum: q, Payload: json.RawMessage(`{"amount":12.5}`),
			Attempt: &posthouse.Attempt{Effect: effect, Number: number, Under: "my-gate"}, Record: posthouse.GateRecord{Settles: true},
		}
	}
	wait := must.Get(l.Commit(ctx, &ledger.Draft{
		Thread: "order-7", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "pay", Next: []string{"pay"}, Parts: []posthouse.Part{{Name: "n", Data: []byte("1")}}},
		Gates: []posthouse.Gate{about("transfer", 1, nil), about("mail", 2, &posthouse.Quorum{Need: 2}), about("book[1]", 1, nil)},
	}))(t)
	must.Get(l.Decide(ctx, wait.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Happened, By: "alice", Value: json.RawMessage(`{"receipt":"R-1"}`)}))(t)
	must.Get(l.Decide(ctx, wait.Gates[1].ID, posthouse.Decision{Verdict: posthouse.Redo, By: "alice"}))(t)
	must.Get(l.Decide(ctx, wait.Gates[1].ID, posthouse.Decision{Verdict: posthouse.Redo, By: "bob"}))(t)
	must.Get(l.Decide(ctx, wait.Gates[2].ID, posthouse.Decision{Verdict: posthouse.GiveUp, By: "carol", Reason: "the customer is gone"}))(t)
}

// formatsOf counts a file's entries by format.
func formatsOf(g *goldenFile) map[byte]int {
	n := map[byte]int{}
	for _, e := range g.Entries {
		n[e.Header[0]]++
	}
	return n
}

// TestLaterFormatsAreEnough has this version, and the verifier that was made from the document, read
// what formats 2 to 6 added.
func TestLaterFormatsAreEnough(t *testing.T) {
	later, settled := formatsOf(readLater(t)), formatsOf(readSettled(t))
	for format := byte(1); format <= newest; format++ {
		if later[format]+settled[format] == 0 {
			t.Errorf("no entry has format %d: %v, %v", format, later, settled)
		}
	}
	for _, read := range []func(testing.TB) *goldenFile{readLater, readSettled} {
		g := read(t)
		a, err := newAudit(g)
		if err != nil {
			t.Fatal(err)
		}
		a.wantStates(t)
		wantClean(t, verify(t, goldenStore(t, g), ringOf(t, goldenKey(t)), &sign.VerifyOptions{RequireSigned: true}))
		findsDamage(t, read)
	}
}

// TestOlderReadersRefuse: a reader that knows formats up to one verifies what they hold, and stops at
// the first entry of a newer one.
func TestOlderReadersRefuse(t *testing.T) {
	for _, g := range []*goldenFile{readGolden(t), readLater(t), readReturned(t), readSettled(t)} {
		for knows := byte(1); knows < newest; knows++ {
			first := 0
			for i, e := range g.Entries {
				if first == 0 && e.Header[0] > knows {
					first = i + 1
				}
			}
			short := *g
			if first > 0 {
				short.Entries = g.Entries[:first-1]
			}
			if _, err := auditUpTo(&short, knows); err != nil {
				t.Errorf("what format %d holds: %v", knows, err)
			}
			if _, err := auditUpTo(g, knows); first > 0 && (err == nil || !strings.Contains(err.Error(), "unknown format")) {
				t.Errorf("a reader up to format %d, at entry %d: %v", knows, first, err)
			}
		}
	}
}

// TestFormatsToComeAreRefused: this version refuses a header of a format that it does not know, and a
// record in another than the lowest that holds it.
func TestFormatsToComeAreRefused(t *testing.T) {
	for i, ge := range append(readLater(t).Entries, readSettled(t).Entries...) {
		for format := range byte(newest + 3) {
			e := ge.entry("order-7")
			e.Header = append([]byte{format}, ge.Header[1:]...)
			_, err := e.Records()
			c := &cursor{b: e.Header, knows: newest}
			outside := refusal(func() { c.header("order-7") })
			switch {
			case format == ge.Header[0]:
				if err != nil || outside != "" {
					t.Fatalf("entry %d: %v, outside %q", i+1, err, outside)
				}
			case format == 0 || format > newest:
				must.Fail(t, err, posthouse.ErrNewer)
				if !strings.Contains(err.Error(), fmt.Sprintf("format %02x", format)) || outside != "unknown format" {
					t.Errorf("entry %d as format %d: %v, outside %q", i+1, format, err, outside)
				}
			case !errors.Is(err, posthouse.ErrCorrupt) || outside == "":
				t.Errorf("entry %d of format %d as format %d: %v, outside %q", i+1, ge.Header[0], format, err, outside)
			}
		}
	}
}

// refusal returns why a decoder panicked, "" if it did not.
func refusal(decode func()) (why string) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprint(p)
		}
	}()
	decode()
	return ""
}

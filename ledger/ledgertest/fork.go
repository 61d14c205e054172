package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
)

func ledgerForkCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/a fork is a child with its source recorded", Rule: "Fork makes a child on a new branch: same coordination, agent, labels and metadata, the given state; the source and main stay.", Run: ledgerForks},
		{Name: "ledger/a fork into a new thread remembers its source", Rule: "The first checkpoint of a forked thread names thread and checkpoint it came from; an existing thread is ErrExists.", Run: ledgerForksAway},
		{Name: "ledger/a fork patches or merges parts", Rule: "Patch replaces parts, Merge merges JSON objects key by key, other parts and the source stay (O8). A patch of a part that the state does not have is ErrInvalid and names those that it has.", Run: ledgerForkPatches},
		{Name: "ledger/walking to the root crosses forks", Rule: "Following parents, and Source at a forked thread's root, reaches the first root (O8).", Run: ledgerWalksToRoot},
		{Name: "ledger/updating a past checkpoint makes a child", Rule: "The old id still loads byte for byte; saving onto a past checkpoint needs a branch of its own (X13).", Run: ledgerUpdatesThePast},
		{Name: "ledger/a forked question waits", Rule: "A fork into a new thread takes along what was decided and asks the rest again: it waits, and nothing runs it.", Run: ledgerForkedQuestion},
		{Name: "ledger/a fork with another state does not offer the old question", Rule: "A fork of a waiting checkpoint whose state has other bytes has no open gate and is interrupted; one whose state is the same asks again under a new id, with a fresh deadline. Deciding one gate decides no other.", Run: ledgerForkedQuestionOfAnotherState},
		{Name: "ledger/forks beyond a hundred", Rule: "Racing forks of one checkpoint all get a branch of their own, however many there are.", Run: ledgerManyForks},
	}
}

func ledgerForks(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := posthouse.Root("coord", desk.State("v"))
	c.Thread, c.Agent, c.Metadata, c.Labels = "t", "analyzer", map[string]string{"m": "1"}, map[string]string{"l": "2"}
	root := d.MustSave(c)
	for i := range 3 { // any number of times
		f, err := d.Fork(t.Ctx, root.ID, &ledger.ForkOptions{Replace: desk.State(fmt.Sprint("f", i)), By: "alice"})
		t.OK(err)
		if f.Parent != root.ID || f.Coordination != "coord" || f.Agent != "analyzer" || f.Metadata["m"] != "1" || f.Labels["l"] != "2" ||
			desk.Content(f) != fmt.Sprint("f", i) || f.Branch != fmt.Sprint("fork-", i+1) || f.Source.ID != root.ID || f.By != "alice" || f.Kind != posthouse.KindFork {
			t.Errorf("fork %d: %+v", i, f)
		}
	}
	last, err := d.Latest(t.Ctx, ledger.LatestQuery{Thread: "t"})
	t.OK(err)
	if last.ID != root.ID || desk.Content(d.MustGet(root.ID)) != "v" {
		t.Error("the source or main moved")
	}
	_, err = d.Fork(t.Ctx, root.ID, &ledger.ForkOptions{Branch: "fork-1"})
	d.WantErr(err, posthouse.ErrExists)
}

func ledgerForksAway(t *desk.T) {
	d := t.Desk(ledger.Options{})
	root := d.Root("t", "coord", "v")
	f, err := d.Fork(t.Ctx, root.ID, &ledger.ForkOptions{Thread: "u", Metadata: map[string]string{"k": "v"}})
	t.OK(err)
	if f.Thread != "u" || !f.IsRoot() || f.Branch != posthouse.MainBranch || *f.Source != (posthouse.Source{Thread: "t", ID: root.ID}) ||
		desk.Content(f) != "v" || f.Coordination != "coord" || f.Metadata["k"] != "v" {
		t.Errorf("fork: %+v", f)
	}
	for _, taken := range []string{"u", "t"} {
		_, err = d.Fork(t.Ctx, root.ID, &ledger.ForkOptions{Thread: taken})
		d.WantErr(err, posthouse.ErrExists)
	}
}

func ledgerForkPatches(t *desk.T) {
	d := t.Desk(ledger.Options{})
	j := func(s string) posthouse.Value { return posthouse.Value{Codec: "json", Data: []byte(s)} }
	root := d.MustSave(&posthouse.Checkpoint{Header: posthouse.Header{Thread: "t"}, State: posthouse.State{
		"input": j(`{"lang":"en","prompt":"old"}`), "scratch": j(`{"step":1}`), "artifacts": j(`["a"]`),
	}})
	f, err := d.Fork(t.Ctx, root.ID, &ledger.ForkOptions{
		Thread: "u", Merge: posthouse.State{"input": j(`{"prompt":"new"}`)}, Patch: posthouse.State{"artifacts": j(`[]`)},
	})
	t.OK(err)
	for part, want := range map[string]string{"input": `{"lang":"en","prompt":"new"}`, "scratch": `{"step":1}`, "artifacts": `[]`} {
		if got := string(f.State[part].Data); got != want {
			t.Errorf("part %s is %s, want %s", part, got, want)
		}
	}
	if got := string(d.MustGet(root.ID).State["input"].Data); got != `{"lang":"en","prompt":"old"}` {
		t.Errorf("the source changed: %s", got)
	}
	_, err = d.Fork(t.Ctx, root.ID, &ledger.ForkOptions{Merge: posthouse.State{"artifacts": j(`{}`)}})
	d.WantErr(err, posthouse.ErrInvalid)
	for _, o := range []ledger.ForkOptions{{Patch: posthouse.State{"artefacts": j(`[]`)}}, {Merge: posthouse.State{"Input": j(`{}`)}}} {
		_, err = d.Fork(t.Ctx, root.ID, &o)
		if e := d.WantErr(err, posthouse.ErrInvalid); !strings.Contains(e.Message, "there is artifacts, input, scratch") {
			t.Errorf("a patch of an unknown part is %v", err)
		}
	}
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if len(info.Branches) != 1 {
		t.Errorf("a refused fork left %d branches", len(info.Branches))
	}
}

func ledgerWalksToRoot(t *desk.T) {
	d := t.Desk(ledger.Options{})
	root := d.Root("t", "", "0")
	c := d.Derive(d.Derive(root, "1"), "2")
	f, err := d.Fork(t.Ctx, c.ID, nil)
	t.OK(err)
	f = d.Derive(f, "3")
	g, err := d.Fork(t.Ctx, f.ID, &ledger.ForkOptions{Thread: "u"})
	t.OK(err)
	at, hops := d.Derive(g, "4"), 0
	for ; at.Parent != "" || at.Source != nil; hops++ {
		if at.Parent != "" {
			at = d.MustGet(at.Parent)
		} else {
			at = d.MustGet(at.Source.ID)
		}
	}
	if at.ID != root.ID || hops != 6 {
		t.Errorf("reached %q in %d hops", desk.Content(at), hops)
	}
}

func ledgerUpdatesThePast(t *desk.T) {
	d := t.Desk(ledger.Options{})
	root := d.Root("t", "", "0")
	c := d.Derive(root, "1")
	_, err := d.Save(t.Ctx, root.Derive(desk.State("late")), nil)
	if e := d.WantErr(err, posthouse.ErrConflict); e.Head != c.ID {
		t.Errorf("the head is said to be %s", e.Head)
	}
	late := root.Derive(desk.State("late"))
	late.Branch = "what-if"
	if got := d.MustSave(late); got.Parent != root.ID {
		t.Errorf("parent %s", got.Parent)
	}
	if desk.Content(d.MustGet(root.ID)) != "0" || desk.Content(d.MustGet(c.ID)) != "1" {
		t.Error("history changed")
	}
}

func ledgerForkedQuestion(t *desk.T) {
	d := t.Desk(ledger.Options{})
	d.Root("t", "", "0")
	first := d.Wait("t", "2/n", nil)
	_, err := d.Decide(t.Ctx, first.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	t.OK(err)
	w := d.Ask("t", posthouse.Gate{Name: "and this?", Task: "2/n"})
	f, err := d.Fork(t.Ctx, w.Checkpoint.ID, &ledger.ForkOptions{Thread: "u"})
	t.OK(err)
	info, err := d.Thread(t.Ctx, "u")
	t.OK(err)
	if f.Status != posthouse.StatusWaiting || info.Status != posthouse.StatusWaiting || info.Runnable() || len(info.Waiting) != 1 {
		t.Errorf("the fork is %q, its thread %+v", f.Status, info)
	}
}

func ledgerForkedQuestionOfAnotherState(t *desk.T) {
	d := t.Desk(ledger.Options{})
	raw := func(v string) posthouse.Value { return posthouse.Value{Codec: "raw", Data: []byte(v)} }
	was := posthouse.State{"request": raw("refund 500"), "note": {Codec: "json", Data: []byte(`{"a":1}`)}}
	start := d.Clock.Now()
	done, err := d.Commit(t.Ctx, &ledger.Draft{
		Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting, Node: "ask", Next: []string{"ask"}, State: was},
		Gates: []posthouse.Gate{
			{Name: "pay?", Task: "1/ask", Payload: []byte(`{"amount":500}`), ExpiresAt: start.Add(time.Hour)},
			{Name: "sure?", Task: "1/ask"},
		},
	})
	t.OK(err)
	d.Clock.Advance(30 * time.Minute)
	source := done.Checkpoint.ID
	for i, o := range []ledger.ForkOptions{
		{}, {Replace: was.Clone()}, {Patch: posthouse.State{"request": raw("refund 500")}},
		{Patch: posthouse.State{"request": raw("refund 999999")}}, {Replace: posthouse.State{"request": raw("refund 500")}},
		{Merge: posthouse.State{"note": {Codec: "json", Data: []byte(`{"a":2}`)}}}, {Patch: posthouse.State{"more": raw("")}, Parts: []string{"more"}},
		{Patch: posthouse.State{"request": {Codec: "json", Data: []byte(`"refund 500"`)}}},
	} {
		for _, o.Thread = range []string{"", fmt.Sprint("away", i)} {
			f, err := d.Fork(t.Ctx, source, &o)
			t.OK(err)
			info, err := d.Thread(t.Ctx, f.Thread)
			t.OK(err)
			var open []*posthouse.Gate
			for _, w := range info.Waiting {
				if w.Branch != f.Branch {
					continue
				}
				g, err := d.Gate(t.Ctx, w.ID)
				t.OK(err)
				open = append(open, g)
			}
			if i >= 3 {
				if f.Status != posthouse.StatusInterrupted || len(f.Gates) > 0 || len(open) > 0 {
					t.Errorf("fork %d with another state is %s and asks %v", i, f.Status, f.Gates)
				}
				continue
			}
			if f.Status != posthouse.StatusWaiting || len(open) != 2 {
				t.Fatalf("fork %d with the same state is %s, with %d open gates", i, f.Status, len(open))
			}
			for j, g := range open {
				old := done.Gates[j]
				if g.ID == old.ID || g.Name != old.Name || string(g.Payload) != string(old.Payload) || g.Content() != old.Content() {
					t.Errorf("fork %d asks %+v, the source %+v", i, g, old)
				}
			}
			if at := open[0].ExpiresAt; !at.Equal(start.Add(90*time.Minute)) || !open[1].ExpiresAt.IsZero() {
				t.Errorf("fork %d has until %v, and %v", i, at, open[1].ExpiresAt)
			}
		}
	}
	_, err = d.Decide(t.Ctx, done.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	t.OK(err)
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	for _, b := range info.Branches {
		want := map[bool]posthouse.Status{true: posthouse.StatusWaiting, false: posthouse.StatusInterrupted}[slices.ContainsFunc(info.Waiting, func(w posthouse.WaitingGate) bool { return w.Branch == b.Branch })]
		if b.Branch != posthouse.MainBranch && b.Status != want {
			t.Errorf("branch %s is %s once the source's question is decided, want %s", b.Branch, b.Status, want)
		}
	}
	if n := len(info.Waiting); n != 1+3*2 {
		t.Errorf("%d questions are open, want those of the forks and the source's other", n)
	}
}

func ledgerManyForks(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := d.Root("t", "", "0")
	for range 110 {
		_, err := d.Fork(t.Ctx, c.ID, nil)
		t.OK(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := d.Fork(t.Ctx, c.ID, nil); err != nil {
				t.Errorf("fork: %v", err)
			}
		})
	}
	wg.Wait()
	info, err := d.Thread(t.Ctx, "t")
	t.OK(err)
	if len(info.Branches) != 119 {
		t.Errorf("%d branches, want 119", len(info.Branches))
	}
}

package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/storetest"
)

func faultCases() (cases []desk.Case) {
	for _, o := range []FaultOptions{
		{Fault: FaultRefuse}, {Fault: FaultLoseCall}, {Fault: FaultLoseAnswer},
		{Fault: FaultLoseCall, Times: 6}, {Fault: FaultLoseAnswer, Times: 6}, // more than the Ledger settles by itself
	} {
		name := "faults/" + o.Fault.String()
		if o.Times > 1 {
			name += " again and again"
		}
		cases = append(cases, desk.Case{
			Name: name + ", at each call in turn",
			Rule: "Whichever call of the store fails under a script of Ledger operations: every operation can be tried again until it succeeds, nothing acknowledged is lost, nothing is done twice, and the store ends up as without the fault.",
			Run:  func(t *desk.T) { failEach(t, o) },
		})
	}
	return cases
}

// failEach runs the script repeatedly and moves the fault one call further each time, with
// -short five calls. It ends when the script runs without the fault.
func failEach(t *desk.T, o FaultOptions) {
	want := runScript(t, t.Store, "none", false)
	further := 1
	if t.Harness.Short {
		further = 5
	}
	for n := 1; ; n += further {
		o.Nth = n
		f := Faulty(t.Store, &o)
		got := runScript(t, f, fmt.Sprintf("n%03d", n), n%2 == 0)
		if got != want {
			t.Fatalf("%v: the store ends up as\n%s\nwant\n%s", f, got, want)
		}
		if f.Fired() == 0 {
			if n < 30 {
				t.Errorf("the script makes only %d calls", n)
			}
			return
		}
	}
}

// A scripted is a run of the script: ids and threads carry the run's name.
type scripted struct {
	*desk.T
	store  posthouse.Store
	name   string
	anew   bool // each try with a Ledger that knows nothing, as after a restart
	ledger *ledger.Ledger
}

// runScript does all kinds of operations and returns the content of the store.
func runScript(t *desk.T, s posthouse.Store, name string, anew bool) string {
	t.Helper()
	r := &scripted{T: t, store: s, name: name, anew: anew}
	r.open()
	r.log()
	r.question()
	r.forks()
	r.removals()

	f, faulty := s.(*FaultStore)
	if faulty {
		s = f.store
	}
	clean := &scripted{T: t, store: s, name: name}
	clean.open()
	if _, err := retain.Compact(t.Ctx, clean.ledger); err != nil && !desk.IsCode(err, posthouse.CodeUnsupported) {
		t.Fatalf("Compact: %v", err)
	}
	content := clean.dump()
	// Held threads are passed over when a later run compacts, or N runs would read N² logs.
	for _, thread := range []string{name, name + "-copy"} {
		_, err := retain.Hold(t.Ctx, clean.ledger, thread, retain.HoldOptions{By: "the suite"})
		t.OK(err)
	}
	return content
}

func (r *scripted) open() {
	l, err := ledger.Open(r.store, &ledger.Options{Now: r.Builder.Now, Owner: "owner"})
	r.OK(err)
	r.ledger = l
}

func (r *scripted) id(s string) posthouse.ID { return posthouse.ID(r.name + ":" + s) }

// do tries until the operation succeeds. A later try may find what an earlier try did, which
// done reports.
func (r *scripted) do(what string, op func(context.Context, *ledger.Ledger) error, done func(error) bool) {
	r.Helper()
	for try := range 20 {
		err := op(r.Ctx, r.ledger)
		switch {
		case err == nil, try > 0 && done != nil && done(err):
			return
		case !errors.Is(err, ErrInjected):
			r.Fatalf("%v: %s, try %d: %v", r.store, what, try+1, err)
		}
		if r.anew {
			r.open()
		}
	}
	r.Fatalf("%v: %s does not succeed", r.store, what)
}

// commit commits a checkpoint after the head that it names.
func (r *scripted) commit(id, head, branch string, c posthouse.Change, steps []posthouse.Step, gates ...posthouse.Gate) {
	r.Helper()
	parent := posthouse.ID("")
	if head != "" {
		parent = r.id(head)
	}
	c.ID = r.id(id)
	r.do("commit of "+id, func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Commit(ctx, &ledger.Draft{
			Thread: r.name, Branch: branch, Head: &parent, Checkpoint: &c, Steps: steps, Gates: slices.Clone(gates),
		})
		return err
	}, func(err error) bool {
		var e *posthouse.Error
		return errors.As(err, &e) && e.Code == posthouse.CodeConflict && e.Head == c.ID
	})
}

func (r *scripted) log() {
	root := posthouse.Root(r.name, posthouse.State{"list": {Codec: "json", Data: []byte(`["a"]`)}, "big": {Codec: "raw", Data: storetest.Filler(3000, "big")}})
	root.ID, root.Metadata = r.id("c1"), map[string]string{"k": "v"}
	r.do("save", func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Save(ctx, root, nil)
		return err
	}, nil)
	result := `{"text":"` + string(storetest.Filler(200, "result")) + `"}`
	r.commit("c2", "c1", "", posthouse.Change{
		Status: posthouse.StatusRunning, Parts: []posthouse.Part{{Name: "list", Data: []byte(`,"b"`), Splice: true, Prefix: 4, Suffix: 1}},
	}, []posthouse.Step{{Task: "1/n", Name: "llm", Value: posthouse.Value{Codec: "json", Data: []byte(result)}}})
	r.commit("c3", "c2", "", posthouse.Change{
		Status: posthouse.StatusRunning, Parts: []posthouse.Part{{Name: "list", Data: []byte("," + result), Splice: true, Prefix: 8, Suffix: 1}},
	}, nil)
	r.do("get", func(ctx context.Context, l *ledger.Ledger) error {
		c, err := l.Get(ctx, r.id("c3"))
		if want := `["a","b",` + result + `]`; err == nil && string(c.State["list"].Data) != want {
			r.Errorf("%v: the state is %.80s, want %.80s", r.store, c.State["list"].Data, want)
		}
		return err
	}, nil)
}

func (r *scripted) question() {
	r.commit("c4", "c3", "", posthouse.Change{Status: posthouse.StatusWaiting, Kind: posthouse.KindWait, Next: []string{"n"}}, nil, posthouse.Gate{Name: "approve"})
	var gate posthouse.ID
	r.do("inbox", func(ctx context.Context, l *ledger.Ledger) error {
		for g, err := range l.Gates(ctx, ledger.GateQuery{Thread: r.name}) {
			if err != nil {
				return err
			}
			gate = g.ID
		}
		return nil
	}, nil)
	r.do("decide", func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Decide(ctx, gate, posthouse.Decision{Verdict: posthouse.Approve, By: "alice", Reason: "fine"})
		return err
	}, func(err error) bool {
		var e *posthouse.Error
		return errors.As(err, &e) && e.Code == posthouse.CodeDecided && e.Decision.By == "alice"
	})
	r.commit("c5", "c4", "", posthouse.Change{Status: posthouse.StatusDone}, nil)
	r.do("latest", func(ctx context.Context, l *ledger.Ledger) error {
		c, err := l.Latest(ctx, ledger.LatestQuery{Thread: r.name})
		if err == nil && c.ID != r.id("c5") {
			r.Errorf("%v: the latest is %s", r.store, c.ID)
		}
		return err
	}, nil)
}

func (r *scripted) forks() {
	fork := func(id string, o ledger.ForkOptions) {
		o.ID = r.id(id)
		r.do("fork "+id, func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Fork(ctx, r.id("c3"), &o)
			return err
		}, func(err error) bool {
			var e *posthouse.Error
			return errors.As(err, &e) && e.Code == posthouse.CodeExists && e.Head == o.ID
		})
	}
	fork("f1", ledger.ForkOptions{Branch: "draft", Patch: posthouse.State{"new": {Codec: "raw", Data: []byte("x")}}, Parts: []string{"new"}})
	fork("f2", ledger.ForkOptions{Thread: r.name + "-copy"})
	fork("f3", ledger.ForkOptions{Thread: r.name + "-gone"})
	r.commit("c6", "f1", "draft", posthouse.Change{Parts: []posthouse.Part{{Name: "big", Drop: true}}}, nil)
	r.do("replace", func(ctx context.Context, l *ledger.Ledger) error {
		c, err := l.Get(ctx, r.id("c6"))
		if err != nil {
			return err
		}
		c.State = posthouse.State{"list": {Codec: "json", Data: []byte(`[]`)}}
		_, err = l.Save(ctx, c, &ledger.SaveOptions{Replace: true})
		return err
	}, nil)
}

func (r *scripted) removals() {
	gone := func(err error) bool { return desk.IsCode(err, posthouse.CodeNotFound) }
	r.do("delete", func(ctx context.Context, l *ledger.Ledger) error {
		_, err := retain.Delete(ctx, l, r.id("c5"), nil)
		return err
	}, gone)
	r.do("orphan", func(ctx context.Context, l *ledger.Ledger) error {
		_, err := retain.Delete(ctx, l, r.id("c2"), &retain.DeleteOptions{Mode: retain.DeleteOrphan})
		return err
	}, gone)
	r.do("delete a thread", func(ctx context.Context, l *ledger.Ledger) error {
		_, err := retain.DeleteThread(ctx, l, r.name+"-gone", nil)
		return err
	}, gone)
	r.do("beat", func(ctx context.Context, l *ledger.Ledger) error { return l.Core().Heartbeat(ctx) }, nil)
}

// dump prints all content of the run without its name.
func (r *scripted) dump() string {
	var b strings.Builder
	for info, err := range r.store.Threads(r.Ctx, posthouse.ThreadQuery{Prefix: r.name}) {
		r.OK(err)
		if info.Thread != r.name && !strings.HasPrefix(info.Thread, r.name+"-") {
			continue
		}
		fmt.Fprintf(&b, "%s: %q, %d checkpoints, %d waiting\n", info.Thread, info.Status, info.Checkpoints, len(info.Waiting))
		for _, h := range info.Branches {
			fmt.Fprintf(&b, "  %s -> %s %q\n", h.Branch, h.Head, h.Status)
		}
		for c, err := range r.ledger.ListStates(r.Ctx, posthouse.Query{Thread: info.Thread}) {
			r.OK(err)
			fmt.Fprintf(&b, "  %s of %s on %s, %q %q, revision %d, %v", c.ID, c.Parent, c.Branch, c.Kind, c.Status, c.Revision, c.Metadata)
			for _, part := range []string{"list", "big", "new"} {
				fmt.Fprintf(&b, ", %s %.40s", part, c.State[part].Data)
			}
			b.WriteString("\n")
		}
		for e, err := range r.ledger.Log(r.Ctx, info.Thread, posthouse.Range{}) {
			r.OK(err)
			fmt.Fprintf(&b, "  entry %d:", e.Seq)
			for i, rec := range e.Records {
				fmt.Fprintf(&b, " %s (%d of %d bytes)", rec.Kind, len(e.Bodies[i]), rec.Size)
			}
			b.WriteString("\n")
		}
	}
	return strings.ReplaceAll(b.String(), r.name, "RUN")
}

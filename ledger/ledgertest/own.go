package ledgertest

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/transfer"
)

func ledgerOwnCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/recorded results that are handed out are copied", Rule: "Whoever changes what Executions returned changes no state that is committed next.", Run: ledgerCopiesResults},
		{Name: "ledger/a signal is sent once by two processes", Rule: "Of two that send one id at once the second gets the signal on record, or ErrExists where it sends something else.", Run: ledgerSignalsRace},
		{Name: "ledger/a thread is not updated before it was created", Rule: "A summary's updated is never before its created, within the thread's first minute, behind a release, and when the clock goes back.", Run: ledgerUpdated},
		{Name: "ledger/whatever is scribbled over", Rule: "Changing every argument and every result of any call of the Ledger, and what observers, rules and policies were given, changes nothing that is stored or read.", Run: ledgerScribbles},
		{Name: "ledger/an unknown outcome stays unknown", Rule: "After ErrUnknown the Ledger asks again: only success or ErrConflict is an answer. Whatever else the store says then, such as ErrReadOnly, the outcome is ErrUnknown.", Run: ledgerStaysUnknown},
	}
}

func ledgerCopiesResults(t *desk.T) {
	d := t.Desk(ledger.Options{})
	node := func(parts ...posthouse.Part) *ledger.Draft {
		return &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Parts: parts}}
	}
	c, err := d.Commit(t.Ctx, node())
	t.OK(err)
	_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: "t", Steps: []posthouse.Step{{
		Task: "2/x", Name: "s", Value: posthouse.Value{Codec: "json", Data: []byte(`"` + strings.Repeat("A", 200) + `"`)},
	}}})
	t.OK(err)
	again := t.Desk(ledger.Options{})
	all, err := again.Core().Executions(t.Ctx, c.Checkpoint)
	t.OK(err)
	data := all["2/x"].Steps[0].Value.Data
	copy(data[1:], strings.Repeat("B", 200))
	want := bytes.Clone(data)
	done, err := again.Commit(t.Ctx, node(posthouse.Part{Name: "b", Data: want}))
	t.OK(err)
	if got := d.MustGet(done.Checkpoint.ID).State["b"].Data; !bytes.Equal(got, want) {
		t.Errorf("committed %.20s, read %.20s", want, got)
	}
}

func ledgerStaysUnknown(t *desk.T) {
	// poisoned loses the answer of its second append and refuses all that follow,
	// as a store on local files does after a sync that failed.
	poisoned := func() posthouse.Store {
		lost := Faulty(t.Store, &FaultOptions{Method: "Append", Fault: FaultLoseAnswer, Nth: 2})
		return Faulty(lost, &FaultOptions{Method: "Append", Fault: FaultRefuse, Err: posthouse.ErrReadOnly, Nth: 3, Times: 1 << 30})
	}
	d := t.DeskOn(poisoned(), ledger.Options{})
	root := d.Root("t", "", "0")
	_, err := d.Save(t.Ctx, root.Derive(desk.State("1")), nil)
	d.WantErr(err, posthouse.ErrUnknown)
	t.Desk(ledger.Options{}).WantStates(posthouse.Query{Thread: "t"}, "0", "1")

	d = t.Desk(ledger.Options{})
	d.Derive(d.Root("copied", "", "0"), "1")
	var file bytes.Buffer
	_, err = transfer.Export(t.Ctx, d.Ledger, "copied", &file, nil)
	t.OK(err)
	_, err = retain.DeleteThread(t.Ctx, d.Ledger, "copied", nil)
	t.OK(err)
	_, err = t.Store.Remove(t.Ctx, posthouse.Removal{Thread: "copied", All: true})
	t.OK(err)
	_, err = transfer.Import(t.Ctx, t.DeskOn(poisoned(), ledger.Options{}).Ledger, bytes.NewReader(file.Bytes()), nil)
	d.WantErr(err, posthouse.ErrUnknown)
}

// A racing store runs a function once, after a look-up that found nothing.
type racing struct {
	posthouse.Store
	act func()
}

func (r *racing) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	ref, err := r.Store.Find(ctx, id)
	if act := r.act; err != nil && act != nil {
		r.act = nil
		act()
	}
	return ref, err
}

func ledgerSignalsRace(t *desk.T) {
	other := t.Desk(ledger.Options{})
	other.Root("t", "", "0")
	other.Root("elsewhere", "", "0")
	for _, c := range []struct {
		thread, value string
		want          *posthouse.Error
	}{{"t", "1", nil}, {"t", "2", posthouse.ErrExists}, {"elsewhere", "1", posthouse.ErrExists}} {
		id := posthouse.ID("one-" + c.thread + c.value)
		send := func(d *desk.Desk, thread, value string) (*posthouse.Signal, error) {
			return d.Signal(t.Ctx, thread, posthouse.Signal{ID: id, Name: "go", Value: []byte(value)})
		}
		var first *posthouse.Signal
		d := t.DeskOn(&racing{t.Store, func() {
			var err error
			first, err = send(other, c.thread, c.value)
			t.OK(err)
		}}, ledger.Options{})
		second, err := send(d, "t", "1")
		if c.want != nil {
			d.WantErr(err, c.want)
			continue
		}
		t.OK(err)
		if second.Seq != first.Seq {
			t.Errorf("sent in entry %d and again in %d", first.Seq, second.Seq)
		}
	}
}

func ledgerUpdated(t *desk.T) {
	d := t.Desk(ledger.Options{})
	check := func(when string) {
		t.Helper()
		for info, err := range t.Store.Threads(t.Ctx, posthouse.ThreadQuery{Thread: "t"}) {
			t.OK(err)
			if info.Updated < info.Created {
				t.Errorf("%s: created %d, updated %d", when, info.Created, info.Updated)
			}
		}
	}
	d.Clock.Advance(4724 * time.Millisecond)
	c := d.Root("t", "", "0")
	check("in its first minute")
	d.Clock.Advance(-time.Hour)
	d.Derive(c, "1")
	check("when the clock went back")
	d.Clock.Advance(2*time.Hour + 11*time.Second)
	d.MustRelease("t", nil)
	check("released")
	d.Root("t", "", "2")
	check("begun anew")
	t.Check(t.Store)
}

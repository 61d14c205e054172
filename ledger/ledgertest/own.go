package ledgertest

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/transfer"
)

func ledgerOwnCases() []Case {
	return []Case{
		{Name: "ledger/recorded results that are handed out are copied", Rule: "Whoever changes what Executions returned changes no state that is committed next.", Run: ledgerCopiesResults},
		{Name: "ledger/a signal is sent once by two processes", Rule: "Of two that send one id at once the second gets the signal on record, or ErrExists where it sends something else.", Run: ledgerSignalsRace},
		{Name: "ledger/a thread is not updated before it was created", Rule: "A summary's updated is never before its created, within the thread's first minute, behind a release, and when the clock goes back.", Run: ledgerUpdated},
		{Name: "ledger/whatever is scribbled over", Rule: "Changing every argument and every result of any call of the Ledger, and what observers, rules and policies were given, changes nothing that is stored or read.", Run: ledgerScribbles},
		{Name: "ledger/an unknown outcome stays unknown", Rule: "After ErrUnknown the Ledger asks again: only success or ErrConflict is an answer. Whatever else the store says then, such as ErrReadOnly, the outcome is ErrUnknown.", Run: ledgerStaysUnknown},
	}
}

func ledgerCopiesResults(t *T) {
	d := t.desk(ledger.Options{})
	node := func(parts ...posthouse.Part) *ledger.Draft {
		return &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Parts: parts}}
	}
	c, err := d.Commit(t.ctx, node())
	t.OK(err)
	_, err = d.Commit(t.ctx, &ledger.Draft{Thread: "t", Steps: []posthouse.Step{{
		Task: "2/x", Name: "s", Value: posthouse.Value{Codec: "json", Data: []byte(`"` + strings.Repeat("A", 200) + `"`)},
	}}})
	t.OK(err)
	again := t.desk(ledger.Options{})
	all, err := again.Core().Executions(t.ctx, c.Checkpoint)
	t.OK(err)
	data := all["2/x"].Steps[0].Value.Data
	copy(data[1:], strings.Repeat("B", 200))
	want := bytes.Clone(data)
	done, err := again.Commit(t.ctx, node(posthouse.Part{Name: "b", Data: want}))
	t.OK(err)
	if got := d.get(done.Checkpoint.ID).State["b"].Data; !bytes.Equal(got, want) {
		t.Errorf("committed %.20s, read %.20s", want, got)
	}
}

func ledgerStaysUnknown(t *T) {
	// poisoned loses the answer of its second append and refuses all that follow,
	// as a store on local files does behind a sync that failed.
	poisoned := func() posthouse.Store {
		lost := Faulty(t.Store, &FaultOptions{Method: "Append", Fault: FaultLoseAnswer, Nth: 2})
		return Faulty(lost, &FaultOptions{Method: "Append", Fault: FaultRefuse, Err: posthouse.ErrReadOnly, Nth: 3, Times: 1 << 30})
	}
	d := t.deskOn(poisoned(), ledger.Options{})
	root := d.root("t", "", "0")
	_, err := d.Save(t.ctx, root.Derive(state("1")), nil)
	d.wantErr(err, posthouse.ErrUnknown)
	t.desk(ledger.Options{}).wantStates(posthouse.Query{Thread: "t"}, "0", "1")

	d = t.desk(ledger.Options{})
	d.derive(d.root("copied", "", "0"), "1")
	var file bytes.Buffer
	_, err = transfer.Export(t.ctx, d.Ledger, "copied", &file, nil)
	t.OK(err)
	_, err = retain.DeleteThread(t.ctx, d.Ledger, "copied", nil)
	t.OK(err)
	_, err = t.Store.Remove(t.ctx, posthouse.Removal{Thread: "copied", All: true})
	t.OK(err)
	_, err = transfer.Import(t.ctx, t.deskOn(poisoned(), ledger.Options{}).Ledger, bytes.NewReader(file.Bytes()), nil)
	d.wantErr(err, posthouse.ErrUnknown)
}

// A racing store lets somebody act once behind a look-up that found nothing.
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

func ledgerSignalsRace(t *T) {
	other := t.desk(ledger.Options{})
	other.root("t", "", "0")
	other.root("elsewhere", "", "0")
	for _, c := range []struct {
		thread, value string
		want          *posthouse.Error
	}{{"t", "1", nil}, {"t", "2", posthouse.ErrExists}, {"elsewhere", "1", posthouse.ErrExists}} {
		id := posthouse.ID("one-" + c.thread + c.value)
		send := func(d *desk, thread, value string) (*posthouse.Signal, error) {
			return d.Signal(t.ctx, thread, posthouse.Signal{ID: id, Name: "go", Value: []byte(value)})
		}
		var first *posthouse.Signal
		d := t.deskOn(&racing{t.Store, func() {
			var err error
			first, err = send(other, c.thread, c.value)
			t.OK(err)
		}}, ledger.Options{})
		second, err := send(d, "t", "1")
		if c.want != nil {
			d.wantErr(err, c.want)
			continue
		}
		t.OK(err)
		if second.Seq != first.Seq {
			t.Errorf("sent in entry %d and again in %d", first.Seq, second.Seq)
		}
	}
}

func ledgerUpdated(t *T) {
	d := t.desk(ledger.Options{})
	check := func(when string) {
		t.Helper()
		for info, err := range t.Store.Threads(t.ctx, posthouse.ThreadQuery{Thread: "t"}) {
			t.OK(err)
			if info.Updated < info.Created {
				t.Errorf("%s: created %d, updated %d", when, info.Created, info.Updated)
			}
		}
	}
	d.clock.Advance(4724 * time.Millisecond)
	c := d.root("t", "", "0")
	check("in its first minute")
	d.clock.Advance(-time.Hour)
	d.derive(c, "1")
	check("when the clock went back")
	d.clock.Advance(2*time.Hour + 11*time.Second)
	d.release("t", nil)
	check("released")
	d.root("t", "", "2")
	check("begun anew")
	t.Check(t.Store)
}

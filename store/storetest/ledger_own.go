package storetest

import (
	"bytes"
	"strings"

	"github.com/posthouse/posthouse"
)

func ledgerOwnCases() []Case {
	return []Case{
		{Name: "ledger/recorded results that are handed out are copied", Rule: "Whoever changes what Executions returned changes no state that is committed next.", Run: ledgerCopiesResults},
		{Name: "ledger/an unknown outcome stays unknown", Rule: "After ErrUnknown the Ledger asks again: only success or ErrConflict is an answer. Whatever else the store says then, such as ErrReadOnly, the outcome is ErrUnknown.", Run: ledgerStaysUnknown},
	}
}

func ledgerCopiesResults(t *T) {
	d := t.desk(posthouse.Options{})
	node := func(parts ...posthouse.Part) *posthouse.Draft {
		return &posthouse.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Parts: parts}}
	}
	c, err := d.Commit(t.ctx, node())
	t.ok(err)
	_, err = d.Commit(t.ctx, &posthouse.Draft{Thread: "t", Steps: []posthouse.Step{{
		Task: "2/x", Name: "s", Value: posthouse.Value{Codec: "json", Data: []byte(`"` + strings.Repeat("A", 200) + `"`)},
	}}})
	t.ok(err)
	again := t.desk(posthouse.Options{})
	all, err := again.Executions(t.ctx, c.Checkpoint)
	t.ok(err)
	data := all["2/x"].Steps[0].Value.Data
	copy(data[1:], strings.Repeat("B", 200))
	want := bytes.Clone(data)
	done, err := again.Commit(t.ctx, node(posthouse.Part{Name: "b", Data: want}))
	t.ok(err)
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
	d := t.deskOn(poisoned(), posthouse.Options{})
	root := d.root("t", "", "0")
	_, err := d.Save(t.ctx, root.Derive(state("1")), nil)
	d.wantErr(err, posthouse.ErrUnknown)
	t.desk(posthouse.Options{}).wantStates(posthouse.Query{Thread: "t"}, "0", "1")

	d = t.desk(posthouse.Options{})
	d.derive(d.root("copied", "", "0"), "1")
	var file bytes.Buffer
	_, err = d.Export(t.ctx, "copied", &file, nil)
	t.ok(err)
	_, err = d.DeleteThread(t.ctx, "copied", nil)
	t.ok(err)
	_, err = t.Store.Remove(t.ctx, posthouse.Removal{Thread: "copied", All: true})
	t.ok(err)
	_, err = t.deskOn(poisoned(), posthouse.Options{}).Import(t.ctx, bytes.NewReader(file.Bytes()), nil)
	d.wantErr(err, posthouse.ErrUnknown)
}

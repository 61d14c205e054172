package ledgertest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
)

func ledgerStateCases() []desk.Case {
	return []desk.Case{
		{Name: "ledger/JSON that readers take differently is refused", Rule: "A member that is there twice and half a surrogate pair are ErrInvalid that names the field, in states, gates, decisions, signals and values that are JSON already.", Run: ledgerDoubledJSON},
		{Name: "ledger/every kept state is rebuilt byte for byte", Rule: "Whatever is edited, forked, replaced, deleted and compacted, each kept checkpoint loads as it was saved, also by a new Ledger.", Run: ledgerRebuilds},
		{Name: "ledger/appends take what is appended", Rule: "The log of a growing value is linear: bytes(800) / bytes(200) stays below 4.5.", Run: ledgerLinear},
		{Name: "ledger/a step's result is stored once", Rule: "A state that takes up a recorded result refers to it, also after a restart between the two.", Run: ledgerStoresResultOnce},
	}
}

func ledgerRebuilds(t *desk.T) {
	checkProperty(t, 10, 40, func(rt *rapid.T, n int) {
		m := &stateMachine{t: t, d: t.Desk(ledger.Options{}), thread: fmt.Sprint("t", n), want: map[posthouse.ID]posthouse.State{}}
		rt.Repeat(map[string]func(*rapid.T){
			"root": m.root, "derive": m.derive, "edit": m.derive, "append": m.derive, "fork": m.fork, "delete": m.remove, "reopen": m.reopen, "": m.check,
		})
	})
}

func ledgerLinear(t *desk.T) {
	d := t.Desk(ledger.Options{})
	size := func(thread string, n int) int {
		c := d.Root(thread, "", "[")
		for i := range n {
			c = d.Derive(c, desk.Content(c)+fmt.Sprintf("message %04d %0100d,", i, i*i))
		}
		total := 0
		for e, err := range t.Store.Read(t.Ctx, thread, posthouse.Range{}) {
			t.OK(err)
			total += len(e.Header)
			for _, b := range e.Bodies {
				total += len(b)
			}
		}
		return total
	}
	small, big := size("small", 200), size("big", 800)
	if big*10 > small*45 {
		t.Errorf("200 appends take %d bytes, 800 take %d", small, big)
	}
}

func ledgerStoresResultOnce(t *desk.T) {
	for _, restart := range []bool{false, true} {
		d := t.Desk(ledger.Options{})
		thread := fmt.Sprint("t-", restart)
		c, err := d.Claim(t.Ctx, thread, "run")
		t.OK(err)
		first, err := d.Commit(t.Ctx, &ledger.Draft{Thread: thread, Claim: c, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindInput, Status: posthouse.StatusRunning, Next: []string{"n"}, State: posthouse.State{"m": {Codec: "json", Data: []byte(`["hello"]`)}},
		}})
		t.OK(err)
		result := []byte(`"` + string(bytes.Repeat([]byte("r"), 1000)) + `"`)
		_, err = d.Commit(t.Ctx, &ledger.Draft{Thread: thread, Claim: c, Steps: []posthouse.Step{{Task: "2/n", Name: "llm", Value: posthouse.Value{Codec: "json", Data: result}}}})
		t.OK(err)
		t.OK(c.Release(t.Ctx))
		if restart {
			d = t.Desk(ledger.Options{})
		}
		x, err := desk.ExecutionOf(t.Ctx, d.Ledger, first.Checkpoint, "2/n")
		t.OK(err)
		if len(x.Steps) != 1 || !bytes.Equal(x.Steps[0].Value.Data, result) {
			t.Fatalf("recorded: %+v", x.Steps)
		}
		done, err := d.Commit(t.Ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusDone, Parts: []posthouse.Part{{Name: "m", Splice: true, Prefix: 8, Suffix: 1, Data: append([]byte(","), result...)}},
		}})
		t.OK(err)
		if got := d.MustGet(done.Checkpoint.ID); string(got.State["m"].Data) != `["hello",`+string(result)+"]" {
			t.Errorf("state %s", got.State["m"].Data)
		}
		for e, err := range t.Store.Read(t.Ctx, thread, posthouse.Range{From: done.Seq}) {
			t.OK(err)
			if n := len(e.Bodies[0]); n > 50 { // sealed, two bytes take 33
				t.Errorf("restart %v: the checkpoint's body has %d bytes", restart, n)
			}
		}
	}
}

// A stateMachine edits one thread at random beside a plain map of what each
// kept checkpoint should hold.
type stateMachine struct {
	t      *desk.T
	d      *desk.Desk
	thread string
	want   map[posthouse.ID]posthouse.State

	branches int // made by deriving from what is no head
}

func (m *stateMachine) ids() []posthouse.ID { return slices.Sorted(maps.Keys(m.want)) }

// pick draws a kept checkpoint. It makes a root if there is no checkpoint.
func (m *stateMachine) pick(rt *rapid.T) *posthouse.Checkpoint {
	if len(m.want) == 0 {
		m.root(rt)
	}
	id := rapid.SampledFrom(m.ids()).Draw(rt, "id")
	c, err := m.d.Get(m.t.Ctx, id)
	if err != nil {
		rt.Fatal(err)
	}
	return c
}

// edit changes some parts: appends, cuts, splices, rewrites, adds and drops.
func (m *stateMachine) edit(rt *rapid.T, s posthouse.State) posthouse.State {
	s = s.Clone()
	if s == nil {
		s = posthouse.State{}
	}
	for range rapid.IntRange(1, 3).Draw(rt, "edits") {
		name := rapid.SampledFrom([]string{"a", "b", "log"}).Draw(rt, "part")
		data := s[name].Data
		blob := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(rt, "blob")
		blob = bytes.Repeat(blob, rapid.SampledFrom([]int{1, 1, 7, 60}).Draw(rt, "times"))
		switch rapid.IntRange(0, 5).Draw(rt, "how") {
		case 0, 1:
			data = append(data, blob...)
		case 2:
			data = data[:rapid.IntRange(0, len(data)).Draw(rt, "cut")]
		case 3:
			at := rapid.IntRange(0, len(data)).Draw(rt, "at")
			data = slices.Concat(data[:at], blob, data[rapid.IntRange(at, len(data)).Draw(rt, "to"):])
		case 4:
			data = blob
		case 5:
			delete(s, name)
			continue
		}
		s[name] = posthouse.Value{Codec: "raw", Data: data}
	}
	return s
}

func (m *stateMachine) keep(rt *rapid.T, c *posthouse.Checkpoint, err error) {
	if err != nil {
		rt.Fatal(err)
	}
	m.want[c.ID] = c.State.Clone()
}

func (m *stateMachine) root(rt *rapid.T) {
	c, err := m.d.Save(m.t.Ctx, &posthouse.Checkpoint{Header: posthouse.Header{Thread: m.thread}, State: m.edit(rt, nil)}, nil)
	m.keep(rt, c, err)
}

func (m *stateMachine) derive(rt *rapid.T) {
	c := m.pick(rt)
	info, err := m.d.Thread(m.t.Ctx, m.thread)
	if err != nil {
		rt.Fatal(err)
	}
	next := c.Derive(m.edit(rt, c.State))
	if b, ok := info.Branch(c.Branch); !ok || b.Head != c.ID {
		m.branches++
		next.Branch = fmt.Sprint("b", m.branches)
	}
	if rapid.Bool().Draw(rt, "meta") {
		next.Metadata = map[string]string{"note": rapid.StringN(0, 20, -1).Draw(rt, "note")}
	}
	next, err = m.d.Save(m.t.Ctx, next, nil)
	m.keep(rt, next, err)
}

func (m *stateMachine) fork(rt *rapid.T) {
	c := m.pick(rt)
	o := &ledger.ForkOptions{}
	if rapid.Bool().Draw(rt, "changed") {
		o.Replace = m.edit(rt, c.State)
	}
	f, err := m.d.Fork(m.t.Ctx, c.ID, o)
	m.keep(rt, f, err)
}

func (m *stateMachine) remove(rt *rapid.T) {
	c := m.pick(rt)
	mode := rapid.SampledFrom([]retain.DeleteMode{retain.DeleteOrphan, retain.DeleteSubtree}).Draw(rt, "mode")
	if _, err := retain.Delete(m.t.Ctx, m.d.Ledger, c.ID, &retain.DeleteOptions{Mode: mode}); err != nil {
		rt.Fatal(err)
	}
	for _, id := range m.ids() {
		if _, err := m.d.GetHeader(m.t.Ctx, id); err != nil {
			if id != c.ID && mode == retain.DeleteOrphan {
				rt.Fatalf("deleting %s took %s: %v", c.ID, id, err)
			}
			delete(m.want, id)
		}
	}
	if _, left := m.want[c.ID]; left {
		rt.Fatalf("%s is still there", c.ID)
	}
}

func (m *stateMachine) reopen(*rapid.T) { m.d = m.t.Desk(ledger.Options{}) }

func (m *stateMachine) check(rt *rapid.T) {
	n := 0
	for c, err := range m.d.ListStates(m.t.Ctx, posthouse.Query{Thread: m.thread}) {
		if err != nil {
			rt.Fatal(err)
		}
		n++
		want := m.want[c.ID]
		if len(c.State) != len(want) {
			rt.Fatalf("%s has %d parts, want %d", c.ID, len(c.State), len(want))
		}
		for name, v := range want {
			if !bytes.Equal(v.Data, c.State[name].Data) {
				rt.Fatalf("part %s of %s is %q, want %q", name, c.ID, c.State[name].Data, v.Data)
			}
		}
	}
	if n != len(m.want) {
		rt.Fatalf("%d checkpoints listed, want %d", n, len(m.want))
	}
}

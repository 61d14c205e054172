package ledgertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/internal/commit"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/transfer"
)

// ledgerScribbles overwrites every argument and result of a Ledger's calls after the call,
// and the arguments of its observers, rules and policy. A new Ledger must still read what
// was written.
func ledgerScribbles(t *desk.T) {
	checkProperty(t, 5, 20, func(rt *rapid.T, n int) {
		m := &scribbler{
			t: t, rt: rt, prefix: fmt.Sprintf("s%d-", n), states: map[posthouse.ID]string{}, gates: map[posthouse.ID]string{},
			decisions: map[posthouse.ID]string{}, steps: map[string]string{}, values: map[posthouse.ID]string{},
		}
		m.live = t.Desk(m.options())
		m.commit(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"commit": m.commit, "step": m.step, "save": m.save, "ask": m.ask, "decide": m.decide, "signal": m.signal, "fork": m.fork,
			"release": m.release, "copy": m.copy, "delete": m.remove, "retain": m.retain, "reopen": m.reopen, "look": m.check,
		})
		m.check(rt)
	})
}

// A scribbler keeps, as text, what it wrote.
type scribbler struct {
	t      *desk.T
	rt     *rapid.T
	live   *desk.Desk
	prefix string // of its threads
	n      int    // of results, gates and copies

	states, gates, decisions, values map[posthouse.ID]string
	steps                            map[string]string
}

func (m *scribbler) options() ledger.Options {
	return ledger.Options{
		Observer: func(e posthouse.Operation) { overwrite(&e) },
		Policy: func(g *posthouse.Gate, d *posthouse.Decision) error {
			overwrite(g)
			overwrite(d)
			return nil
		},
		Rules: []posthouse.Rule{{Name: "scribble", Check: func(_ context.Context, p *posthouse.Proposal) error {
			c, err := p.Checkpoint()
			overwrite(c)
			return err
		}}},
	}
}

func (m *scribbler) thread() string {
	return m.prefix + rapid.SampledFrom([]string{"a", "b"}).Draw(m.rt, "thread")
}

// blob returns one of a few texts, so that states refer to results. One of them is what
// another becomes when it is overwritten.
func (m *scribbler) blob() []byte {
	return []byte(strings.Repeat(rapid.SampledFrom([]string{"A", "@", "xyz"}).Draw(m.rt, "text"), rapid.SampledFrom([]int{3, 100, 900}).Draw(m.rt, "times")))
}

func (m *scribbler) quoted() json.RawMessage { return json.RawMessage(`"` + string(m.blob()) + `"`) }

// head is the newest checkpoint of a thread, nil if it has no checkpoints.
func (m *scribbler) head(thread string) *posthouse.Checkpoint {
	c, err := m.live.Latest(m.t.Ctx, ledger.LatestQuery{Thread: thread})
	if errors.Is(err, posthouse.ErrNotFound) {
		return nil
	}
	m.ok(err)
	return c
}

func (m *scribbler) ok(err error) {
	m.rt.Helper()
	if err != nil {
		m.rt.Fatal(err)
	}
}

func (m *scribbler) same(what, got, want string) {
	m.rt.Helper()
	if got != want {
		m.rt.Fatalf("%s reads\n%s\nwant\n%s", what, got, want)
	}
}

// change draws a change of the head's state and returns the state after it.
func (m *scribbler) change(thread string) (*posthouse.Change, string) {
	c := &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Node: "n", Next: []string{"n"}, Labels: map[string]string{"l": "v"}, Metadata: map[string]string{"k": "v"}}
	want := posthouse.State{}
	if h := m.head(thread); h != nil {
		want = h.State
	}
	name, data := rapid.SampledFrom([]string{"p", "q"}).Draw(m.rt, "part"), m.blob()
	want[name] = posthouse.Value{Codec: "raw", Data: data}
	if rapid.Bool().Draw(m.rt, "whole") {
		c.State = want.Clone()
	} else {
		c.Parts = []posthouse.Part{{Name: name, Codec: "raw", Data: bytes.Clone(data)}}
	}
	return c, printed(want)
}

func (m *scribbler) committed(d *ledger.Draft, state string) *posthouse.Committed {
	done, err := m.live.Commit(m.t.Ctx, d)
	m.ok(err)
	if done.Checkpoint != nil {
		m.states[done.Checkpoint.ID] = state
	}
	return done
}

func (m *scribbler) commit(*rapid.T) {
	thread := m.thread()
	c, want := m.change(thread)
	d := &ledger.Draft{Thread: thread, Checkpoint: c}
	done := m.committed(d, want)
	overwrite(d)
	overwrite(done)
}

func (m *scribbler) step(*rapid.T) {
	thread, data := m.thread(), m.blob()
	h := m.head(thread)
	if h == nil {
		return
	}
	m.n++
	name := fmt.Sprint("step", m.n)
	m.steps[thread+"/"+name] = printed(data)
	d := &ledger.Draft{Thread: thread, Steps: []posthouse.Step{{Task: "t", Name: name, Value: posthouse.Value{Codec: "raw", Data: data}}}}
	done := m.committed(d, "")
	overwrite(d)
	overwrite(done)
}

func (m *scribbler) save(*rapid.T) {
	thread := m.thread()
	c := &posthouse.Checkpoint{Header: posthouse.Header{Thread: thread}}
	if h := m.head(thread); h != nil {
		c = h.Derive(nil)
	}
	c.State = posthouse.State{"p": {Codec: "raw", Data: m.blob()}}
	c.Metadata, c.Labels = map[string]string{"k": "saved"}, map[string]string{"l": "saved"}
	want := printed(c.State)
	saved, err := m.live.Save(m.t.Ctx, c, &ledger.SaveOptions{})
	m.ok(err)
	m.states[saved.ID] = want
	overwrite(c)
	overwrite(saved)
}

func (m *scribbler) ask(*rapid.T) {
	thread := m.thread()
	c, want := m.change(thread)
	c.Kind, c.Status = posthouse.KindWait, posthouse.StatusWaiting
	m.n++
	id := posthouse.ID(fmt.Sprint(m.prefix, "gate", m.n))
	d := &ledger.Draft{Thread: thread, Checkpoint: c, Gates: []posthouse.Gate{{
		ID: id, Name: "ok?", Task: "t", Payload: m.quoted(), Assignees: []string{"alice", "bob", "carol"}, Labels: map[string]string{"l": "v"}, Verdicts: []posthouse.Verdict{posthouse.Approve, posthouse.Edit},
		Escalation: &posthouse.Escalation{At: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), To: []string{"dora"}},
	}, {
		ID: "w" + id, Name: "signal", Kind: posthouse.GateSignal, Signal: "go", Task: "t", Labels: map[string]string{"l": "v"},
	}}}
	if rapid.Bool().Draw(m.rt, "quorum") {
		d.Gates[0].Verdicts, d.Gates[0].Quorum = nil, &posthouse.Quorum{Need: 2}
	}
	told := d.Gates[0]
	m.gates[id] = printed([]any{told.Payload, told.Assignees, told.Labels, told.Escalation, told.Quorum})
	done := m.committed(d, want)
	for i := range done.Gates {
		g, err := m.t.Desk(ledger.Options{}).Gate(m.t.Ctx, done.Gates[i].ID)
		m.ok(err)
		m.same("the gate that was opened", printed(g), printed(done.Gates[i]))
	}
	overwrite(d)
	overwrite(done)
}

func (m *scribbler) decide(*rapid.T) {
	for id := range m.gates {
		g, err := m.live.Gate(m.t.Ctx, id)
		if errors.Is(err, posthouse.ErrNotFound) {
			delete(m.gates, id)
			continue
		}
		m.ok(err)
		if g.Decision != nil {
			continue
		}
		del := posthouse.Delegation{By: "carol", To: "erin"}
		if len(g.Assignments) == 0 {
			handed, err := m.live.Delegate(m.t.Ctx, id, del)
			m.ok(err)
			m.same("what was delegated", m.fresh(id), printed(handed))
			overwrite(handed)
		}
		d := posthouse.Decision{Verdict: posthouse.Approve, By: "alice"}
		switch {
		case g.Quorum != nil && len(g.Votes) > 0:
			d.By = "bob"
		case g.Quorum == nil:
			d.Verdict, d.Value = posthouse.Edit, m.quoted()
		}
		m.decisions[id] = printed(d.Value)
		decided, err := m.live.Decide(m.t.Ctx, id, d)
		m.ok(err)
		m.same("what was decided", m.fresh(id), printed(decided))
		overwrite(&d)
		overwrite(decided)
		return
	}
}

// fresh returns a gate as a new Ledger reads it.
func (m *scribbler) fresh(id posthouse.ID) string {
	g, err := m.t.Desk(ledger.Options{}).Gate(m.t.Ctx, id)
	m.ok(err)
	return printed(g)
}

func (m *scribbler) signal(*rapid.T) {
	thread, value := m.thread(), m.quoted()
	m.n++
	s := posthouse.Signal{ID: posthouse.ID(fmt.Sprint(m.prefix, "signal", m.n)), Name: "go", Value: value, Early: true}
	want := printed(value)
	sent, err := m.live.Signal(m.t.Ctx, thread, s)
	if errors.Is(err, posthouse.ErrNotFound) {
		return // it was deleted: a signal does not bring it back
	}
	m.ok(err)
	m.same("the value that was sent", printed(sent.Value), want)
	m.values[s.ID] = want
	overwrite(&s)
	overwrite(sent)
}

func (m *scribbler) fork(*rapid.T) {
	h := m.head(m.thread())
	if h == nil {
		return
	}
	o := &ledger.ForkOptions{Labels: map[string]string{"l": "fork"}, Metadata: map[string]string{"k": "fork"}, Parts: []string{"p"}}
	o.Patch = posthouse.State{"p": {Codec: "raw", Data: m.blob()}}
	want := h.State.Clone()
	want["p"] = posthouse.Value{Codec: "raw", Data: bytes.Clone(o.Patch["p"].Data)}
	f, err := m.live.Fork(m.t.Ctx, h.ID, o)
	m.ok(err)
	m.states[f.ID] = printed(want)
	overwrite(o)
	overwrite(f)
}

func (m *scribbler) release(*rapid.T) {
	thread := m.thread()
	if m.head(thread) == nil {
		return
	}
	o := &ledger.ReleaseOptions{Tags: []string{"v"}}
	r, err := m.live.Release(m.t.Ctx, thread, o)
	m.ok(err)
	fresh, err := ledger.LastRelease(m.t.Ctx, m.t.Desk(ledger.Options{}).Ledger, thread)
	m.ok(err)
	m.same("what was released", printed(fresh), printed(r))
	overwrite(o)
	overwrite(r)
	for id := range m.gates { // those of the thread were cancelled
		if g, err := m.live.Gate(m.t.Ctx, id); err == nil && g.Decision != nil {
			overwrite(g)
		}
	}
}

func (m *scribbler) copy(*rapid.T) {
	thread := m.thread()
	if m.head(thread) == nil {
		return
	}
	m.n++
	info, err := transfer.CopyThread(m.t.Ctx, m.live.Ledger, thread, fmt.Sprint(m.prefix, "copy", m.n), &transfer.CopyOptions{})
	m.ok(err)
	overwrite(info)
}

func (m *scribbler) remove(*rapid.T) {
	h := m.head(m.thread())
	if h == nil {
		return
	}
	del, err := retain.Delete(m.t.Ctx, m.live.Ledger, h.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan})
	m.ok(err)
	delete(m.states, h.ID)
	overwrite(del)
}

func (m *scribbler) retain(*rapid.T) {
	r := retain.Policy{MaxPerThread: 1, KeepBranches: []string{"x"}, KeepLabels: map[string]string{"l": ""}, Prefix: m.prefix}
	got, err := retain.Run(m.t.Ctx, m.live.Ledger, r, nil)
	m.ok(err)
	overwrite(&r)
	overwrite(got)
	thread := m.thread()
	hold, err := retain.Hold(m.t.Ctx, m.live.Ledger, thread, retain.HoldOptions{By: "alice"})
	if errors.Is(err, posthouse.ErrNotFound) {
		return
	}
	m.ok(err)
	m.ok(retain.Unhold(m.t.Ctx, m.live.Ledger, thread, retain.HoldOptions{By: "alice"}))
	overwrite(hold)
}

func (m *scribbler) reopen(*rapid.T) { m.live = m.t.Desk(m.options()) }

// check reads everything twice with the Ledger under test and once with a new one.
func (m *scribbler) check(*rapid.T) {
	fresh := m.t.Desk(ledger.Options{})
	for id, want := range m.states {
		c, err := fresh.Get(m.t.Ctx, id)
		if errors.Is(err, posthouse.ErrNotFound) {
			delete(m.states, id) // retention took it
			continue
		}
		m.ok(err)
		m.same("the state of "+string(id), printed(c.State), want)
	}
	for id, want := range m.gates {
		g, err := fresh.Gate(m.t.Ctx, id)
		if errors.Is(err, posthouse.ErrNotFound) {
			delete(m.gates, id)
			continue
		}
		m.ok(err)
		m.same("gate "+string(id), printed([]any{g.Payload, g.Assignees, g.Labels, g.Escalation, g.Quorum}), want)
		if g.Decision != nil && g.Decision.Verdict == posthouse.Edit {
			m.same("the decision of gate "+string(id), printed(g.Decision.Value), m.decisions[id])
		}
	}
	want := m.view(fresh)
	m.same("the first look", m.view(m.live), want)
	m.same("the second look", m.view(m.live), want)
}

// view returns all that can be read, as text, and overwrites what it read.
func (m *scribbler) view(d *desk.Desk) string {
	var b strings.Builder
	note := func(what string, v any, err error) {
		m.ok(err)
		fmt.Fprintf(&b, "%s: %s\n", what, printed(v))
		overwrite(v)
	}
	ctx, events := m.t.Ctx, 0
	for info, err := range d.Threads(ctx, posthouse.ThreadQuery{Prefix: m.prefix}) {
		m.ok(err)
		thread := strings.Clone(info.Thread)
		note("thread", info, nil)
		events += m.viewThread(d, thread, note)
	}
	each(note, "gate", d.Gates(ctx, ledger.GateQuery{All: true}))
	if events == 0 {
		return b.String() // Watch would wait for one
	}
	for e, err := range d.Watch(ctx, ledger.WatchQuery{}) {
		note("event", e, err)
		break
	}
	return b.String()
}

func each[V any](note func(string, any, error), what string, seq iter.Seq2[V, error]) {
	for v, err := range seq {
		note(what, v, err)
	}
}

func (m *scribbler) viewThread(d *desk.Desk, thread string, note func(string, any, error)) (events int) {
	ctx := m.t.Ctx
	var file bytes.Buffer
	f, err := transfer.Export(ctx, d.Ledger, thread, &file, nil)
	note("export", f, err)
	note("its file", file.Bytes(), nil)
	for e, err := range d.Log(ctx, thread, posthouse.Range{}) {
		m.ok(err)
		events += len(e.Events)
		for _, ev := range e.Events {
			m.sent(ev)
		}
		note("entry", e, err)
	}
	each(note, "header", d.List(ctx, posthouse.Query{Thread: thread}))
	each(note, "release", d.Releases(ctx, thread))
	var last posthouse.ID
	for c, err := range d.ListStates(ctx, posthouse.Query{Thread: thread}) {
		m.ok(err)
		if id := c.ID; last != "" {
			cmp, err := diff.Compare(ctx, d.Ledger, last, id)
			note("comparison", cmp, err)
			last = id
		} else {
			last = id
		}
		note("state", c, err)
	}
	h := m.head(thread)
	if h == nil {
		return events
	}
	all, err := d.Core().Executions(ctx, &h.Header)
	m.ok(err)
	for _, x := range all {
		for _, s := range x.Steps {
			if want, ok := m.steps[thread+"/"+s.Name]; ok {
				m.same("step "+s.Name, printed(s.Value.Data), want)
			}
		}
	}
	note("executions", all, err)
	pending, err := commit.Pending(ctx, d.Ledger.Core(), thread, "main", "go", false)
	note("signals", pending, err)
	return events
}

// sent compares a signal on record with the one that was sent.
func (m *scribbler) sent(e *posthouse.Event) {
	if e.Signal != nil && m.values[e.Signal.ID] != "" {
		m.same("signal "+string(e.Signal.ID), printed(e.Signal.Value), m.values[e.Signal.ID])
	}
}

// overwrite is [storetest.Overwrite], except for claims, which are handles.
func overwrite(v any) { storetest.Overwrite(v, reflect.TypeFor[*ledger.Claim]()) }

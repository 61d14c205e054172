package ledgertest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/transfer"
)

func nameCases() []desk.Case {
	return []desk.Case{
		{
			Name: "ledger/names that people have",
			Rule: "Saves, forks, copies, releases, gates, signals, slots, deletion, and a thread's file take any name that does not begin with $, and none is taken for another.",
			Run:  ledgerNames,
		}, {
			Name: "ledger/names that are none",
			Rule: "An empty name, one of more than 200 bytes, invalid UTF-8 and control characters (C0, DEL, C1) are ErrInvalid with the field, and write nothing; so is a thread's name of blanks and invisible characters alone.",
			Run:  ledgerBadNames,
		}, {
			Name: "ledger/threads of the runtime",
			Rule: "Nobody begins, sends to, imports, copies to, forks to, claims, releases, holds or deletes a thread whose name begins with $: ErrInvalid with the field thread, and nothing is written; $default is everybody's.",
			Run:  ledgerRuntimeThreads,
		},
	}
}

// badNames are not valid.
var badNames = map[string]string{
	"empty": "", "201 bytes": strings.Repeat("x", 201), "201 bytes in 67 characters": strings.Repeat("日", 67),
	"half a character": "a\xe6\x97", "latin-1": "caf\xe9", "a lone byte": "\xff", "too long a form": "\xc0\xaf", "half a pair": "\xed\xa0\x80", "beyond Unicode": "\xf4\x90\x80\x80",
	"zero": "a\x00b", "a line feed": "a\nb", "a tab": "\t", "an escape": "\x1b[31m", "DEL": "a\x7f", "a C1 control": "a\u009b31m", "the next line": "a\u0085b", "the first C1": "\u0080",
}

// threadNames are names that threads may have.
func threadNames() []string {
	return slices.DeleteFunc(storetest.Names(), func(name string) bool { return posthouse.CheckThread("thread", name) != nil })
}

func ledgerNames(t *desk.T) {
	d := t.Desk(ledger.Options{})
	target := t.DeskOn(t.Fresh(), ledger.Options{})
	for _, name := range threadNames() {
		c := posthouse.Root(name, desk.State("of "+name)) // its thread, too
		c.Agent, c.Node, c.Graph, c.Labels = name, posthouse.EscapeName(name), name, map[string]string{name: name}
		c = d.MustSave(c)
		if c.Thread != name || c.Coordination != name || c.Agent != name || c.Labels[name] != name {
			t.Errorf("%q comes back as %+v", name, c.Header)
		}
		if name != posthouse.MainBranch {
			f, err := d.Fork(t.Ctx, c.ID, &ledger.ForkOptions{Branch: name, Replace: desk.State("fork of " + name)})
			t.OK(err)
			if f.Branch != name || f.Thread != name {
				t.Errorf("the fork is on branch %q of thread %q, want %q", f.Branch, f.Thread, name)
			}
		}
		_, err := d.Signal(t.Ctx, name, posthouse.Signal{Name: "s", By: "alice"})
		t.OK(err)
	}
	for _, name := range threadNames() {
		last, err := d.Latest(t.Ctx, ledger.LatestQuery{Thread: name})
		t.OK(err)
		side, err := d.Latest(t.Ctx, ledger.LatestQuery{Thread: name, Branch: name})
		t.OK(err)
		if desk.Content(last) != "of "+name || desk.Content(side) != "fork of "+name {
			t.Errorf("thread %q has %q and %q", name, desk.Content(last), desk.Content(side))
		}
		d.WantStates(posthouse.Query{Coordination: name, Branch: posthouse.MainBranch}, "of "+name)
		var file bytes.Buffer
		_, err = transfer.Export(t.Ctx, d.Ledger, name, &file, nil)
		t.OK(err)
		in, err := transfer.Import(t.Ctx, target.Ledger, bytes.NewReader(file.Bytes()), nil)
		t.OK(err)
		if in.Thread != name {
			t.Errorf("thread %q is imported as %q", name, in.Thread)
		}
	}
	for _, pair := range [][2]string{{"tenant/42", "tenant/42/copy"}, {"日本", "日本 (2)"}, {"order#7", "order#7#2"}} {
		to, err := transfer.CopyThread(t.Ctx, d.Ledger, pair[0], pair[1], nil)
		t.OK(err)
		if to.Thread != pair[1] {
			t.Errorf("the copy of %q is %q, want %q", pair[0], to.Thread, pair[1])
		}
		_, err = d.Release(t.Ctx, pair[0], nil)
		t.OK(err)
		v, err := ledger.FindRelease(t.Ctx, d.Ledger, pair[0], "1")
		t.OK(err)
		if v.Thread != pair[0] {
			t.Errorf("version 1 of %q is of %q", pair[0], v.Thread)
		}
	}
	ask := d.Ask("user@example.com", posthouse.Gate{Name: "ok?", Task: "1/ask"})
	g, err := d.Decide(t.Ctx, ask.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
	t.OK(err)
	if g.Thread != "user@example.com" {
		t.Errorf("the gate is of thread %q", g.Thread)
	}
	threads := len(allThreads(d))
	_, err = retain.DeleteThread(t.Ctx, d.Ledger, "a b", nil)
	t.OK(err)
	_, err = retain.DeleteCoordination(t.Ctx, d.Ledger, "a_b", nil)
	t.OK(err)
	if n := len(allThreads(d)); n != threads-2 {
		t.Errorf("two deletions left %d of %d threads", n, threads)
	}
}

// allThreads lists the threads.
func allThreads(d *desk.Desk) (out []*posthouse.ThreadInfo) {
	d.Helper()
	for info, err := range d.Threads(d.Ctx, posthouse.ThreadQuery{}) {
		d.OK(err)
		out = append(out, info)
	}
	return out
}

func ledgerBadNames(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := d.Root("t", "", "x")
	for _, name := range []string{" ", "\u00a0\u3000", "\u200b", " \u3164"} {
		blank := posthouse.Root("", desk.State("x"))
		blank.Thread = name
		_, err := d.Save(t.Ctx, blank, nil)
		if e := d.WantErr(err, posthouse.ErrInvalid); e.Field != "thread" {
			t.Errorf("%q: the error names %q: %v", name, e.Field, e)
		}
		_, err = d.Signal(t.Ctx, name, posthouse.Signal{Name: "s", By: "alice"})
		d.WantErr(err, posthouse.ErrInvalid)
	}
	for what, name := range badNames {
		refused := func(field string, err error) {
			t.Helper()
			if e := d.WantErr(err, posthouse.ErrInvalid); e.Field != field {
				t.Errorf("%s as %s: the error names %q: %v", what, field, e.Field, e)
			}
		}
		refused("name", posthouse.ValidateName("name", name))
		for field, set := range map[string]func(*posthouse.Checkpoint){
			"thread": func(c *posthouse.Checkpoint) { c.Thread = name }, "coordination": func(c *posthouse.Checkpoint) { c.Coordination = name },
			"branch": func(c *posthouse.Checkpoint) { c.Branch = name }, "agent": func(c *posthouse.Checkpoint) { c.Agent = name },
			"graph":  func(c *posthouse.Checkpoint) { c.Graph = name },
			"labels": func(c *posthouse.Checkpoint) { c.Labels = map[string]string{name: "v"} },
		} {
			if name == "" && field != "labels" {
				continue // it is not given
			}
			c := posthouse.Root("t2", desk.State("x"))
			c.Thread = "t2"
			set(c)
			_, err := d.Save(t.Ctx, c, nil)
			refused(field, err)
		}
		if name != "" {
			_, err := d.Fork(t.Ctx, c.ID, &ledger.ForkOptions{Branch: name})
			refused("branch", err)
			_, err = d.Fork(t.Ctx, c.ID, &ledger.ForkOptions{Thread: name})
			refused("thread", err)
		}
		_, err := transfer.CopyThread(t.Ctx, d.Ledger, "t", name, nil)
		refused("thread", err)
		_, err = d.Signal(t.Ctx, name, posthouse.Signal{Name: "s"})
		refused("thread", err)
	}
	if n := len(allThreads(d)); n != 1 {
		t.Errorf("bad names left %d threads", n)
	}
}

func ledgerRuntimeThreads(t *desk.T) {
	d := t.Desk(ledger.Options{})
	c := d.Root("t", "", "x")
	slot := func(thread string) posthouse.SlotKey { return posthouse.SlotKey{Thread: thread, Step: "s"} }
	for _, name := range []string{posthouse.ProcessThread, "$approvals", "$requests", "$sessions", "$", "$x", "$$default", "$default2"} {
		_, err := d.Store().Slot(t.Ctx, slot(name), posthouse.SlotOp{Verb: posthouse.SlotPut, Revision: posthouse.AnyRevision, Value: []byte("the runtime's")})
		t.OK(err)
		root := posthouse.Root("r", desk.State("x"))
		root.Thread = name
		_, began := d.Save(t.Ctx, root, nil)
		labelled := posthouse.Root(name, desk.State("x"))
		_, byLabel := d.Save(t.Ctx, labelled, nil)
		_, committed := d.Commit(t.Ctx, &ledger.Draft{Thread: name, Checkpoint: &posthouse.Change{State: desk.State("x")}})
		_, signalled := d.Signal(t.Ctx, name, posthouse.Signal{Name: "s", By: "mallory"})
		_, forked := d.Fork(t.Ctx, c.ID, &ledger.ForkOptions{Thread: name})
		_, copied := transfer.CopyThread(t.Ctx, d.Ledger, "t", name, nil)
		_, released := d.Release(t.Ctx, name, nil)
		_, claimed := d.Claim(t.Ctx, name, "run")
		for what, err := range map[string]error{
			"begun": began, "begun by its coordination": byLabel, "committed to": committed, "sent to": signalled, "forked to": forked, "copied to": copied, "released": released, "claimed": claimed,
		} {
			if e := d.WantErr(err, posthouse.ErrInvalid); e == nil || e.Field != "thread" {
				t.Errorf("%s is %s: %v", name, what, err)
			}
		}
		_, deleted := retain.DeleteThread(t.Ctx, d.Ledger, name, nil)
		_, held := retain.Hold(t.Ctx, d.Ledger, name, retain.HoldOptions{Reason: "r", By: "mallory"})
		_, cancelled := d.Cancel(t.Ctx, name, nil)
		for what, err := range map[string]error{"deleted": deleted, "held": held, "cancelled": cancelled} {
			if err == nil {
				t.Errorf("%s is %s", name, what)
			}
		}
		if s, err := d.Store().Slot(t.Ctx, slot(name), posthouse.SlotOp{}); err != nil || string(s.Value) != "the runtime's" {
			t.Errorf("the slot of %s: %q, %v", name, s.Value, err)
		}
	}
	if n := len(allThreads(d)); n != 1 {
		t.Errorf("%d threads, want 1", n)
	}
	d.Root(posthouse.DefaultThread, "", "x")
	_, err := d.Signal(t.Ctx, posthouse.DefaultThread, posthouse.Signal{Name: "s", By: "alice"})
	t.OK(err)
	_, err = d.Release(t.Ctx, posthouse.DefaultThread, nil)
	t.OK(err)
}

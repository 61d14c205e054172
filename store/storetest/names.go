package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest/internal/model"
)

func nameCases() []Case {
	return []Case{
		{
			Name: "names/any text is kept as it is",
			Rule: "Threads, coordinations, branches, nodes, agents, programs and labels are 1 to 200 bytes of UTF-8 without control characters, kept and told apart byte by byte: case, spaces, normal forms and zero-width characters count.",
			Run:  namesKept,
		}, {
			Name: "names/lists and prefixes go by bytes",
			Rule: "Threads are listed in the order of their names' bytes, in both directions, page by page; a prefix is bytes, also half a character, and no character is a wildcard.",
			Run:  namesListed,
		}, {
			Name: "names/slots of threads of any name",
			Rule: "The slots of two threads, or of two steps, are never each other's, whatever characters join their names.",
			Run:  namesSlots,
		}, {
			Name: "names/a node is found by its name and as it is written",
			Rule: "A checkpoint is found by its node as written, by each of those that + joins in it, and by the name that one of them escapes (EscapeName).",
			Run:  namesNodes,
		},
	}
}

// Names returns valid names that are easy to lose or to mix up in a file system, a subject,
// a pattern, a query, a collation, a normal form or an address.
func Names() []string { return slices.Clone(names) }

var names = []string{
	"user@example.com", "tenant/42", "tenant/4", "tenant", "tenant/", "/tenant", "//", "order#7", "order", "日本", "日本語", "日", "Zoë", "Zoe\u0308", "zoë", "ZOË",
	"straße", "strasse", "STRASSE", "ﬁ", "fi", "İ", "i", "I", "ı", "K", "\u212a", "ñ", "n\u0303", "Å", "\u212b", "A\u030a",
	" ", "  ", " a", "a ", "a", "a b", "a  b", "a\u00a0b", "a\u3000b", "a\u200bb", "a\u200db", "ab", "\ufeffa", "a\u2028b", "a\u202eb",
	"%", "%%", "%2F", "%2f", "%252F", "/", "\\", "\\\\", "a%b", "a_b", "aXb", "_", "*", "?", "[a]", "[", "]", "{a}", "a*", "a?", ">", "a.>", "*.a", "a.*",
	"'", "''", "\"", "`", "' OR '1'='1", "; DROP TABLE threads; --", "a;b", "--", "/*", "$1", "?1", ":a", "@a", "a=b", "a&b", "<b>", "&amp;", "a,b", "a|b", "(a)", "!", "^", "~", "~1", "~0",
	".", "..", "...", "./a", "../a", "a/..", "a/.", "C:\\", "CON", "nul", "a.", "+", "a+b", "b+a", "a#1", "a>b", "a/b", "a%2Bb",
	"😀", "👩‍👩‍👧‍👦", "👩👩👧👦", "🇩🇪", "\U0010ffff", "\U0010fffd", "\ue000", "\ufffd", "\ufffe", "a\ufffd", "\u0301", "עברית", "العربية", "ไทย", "한국", "\u1112\u1161\u11ab",
	strings.Repeat("é", 100), strings.Repeat("日", 66) + "xx", strings.Repeat("😀", 50), strings.Repeat("\U0010ffff", 50), strings.Repeat("%", 200), strings.Repeat(" ", 200), strings.Repeat("/", 199) + "x",
}

func namesKept(t *T) {
	want := map[string]*posthouse.Header{}
	for i, name := range names {
		t.OK(posthouse.ValidateName("name", name))
		l := t.Builder.Log(name)
		h := posthouse.Header{
			Coordination: name, Agent: name, Node: posthouse.EscapeName(name), Graph: name, Branch: name,
			Labels: map[string]string{name: names[len(names)-1-i]},
		}
		want[name] = t.checkpoint(l, h, "state of "+name)
	}
	for i, name := range names {
		got := t.Read(name, posthouse.Range{})
		if len(got) != 1 || got[0].Thread != name || string(got[0].Bodies[0]) != "state of "+name {
			t.Errorf("thread %q does not have its one entry", name)
		}
		for _, q := range []posthouse.Query{
			{Thread: name}, {Coordination: name}, {Agent: name}, {Node: name}, {Graph: name}, {Branch: name},
			{Label: name, LabelValue: names[len(names)-1-i]}, {Coordination: name, Agent: name, Node: name, Label: name, LabelValue: names[len(names)-1-i]},
		} {
			if q.Node != "" {
				t.WantHeaders(fmt.Sprintf("%+v", q), t.List(q), meant(want, q)...)
			} else {
				t.WantHeaders(fmt.Sprintf("%+v", q), t.List(q), want[name])
			}
		}
		if infos := t.Threads(posthouse.ThreadQuery{Thread: name}); len(infos) != 1 || infos[0].Thread != name || infos[0].Branches[0].Branch != name {
			t.Errorf("Threads of %q: got %q", name, threadNames(infos))
		}
	}
	if n := len(t.List(posthouse.Query{})); n != len(names) {
		t.Errorf("%d checkpoints are listed, want %d", n, len(names))
	}
	_, err := t.Store.Remove(t.ctx, posthouse.Removal{Thread: "tenant/42", All: true})
	t.OK(err)
	if n := len(t.Threads(posthouse.ThreadQuery{})); n != len(names)-1 {
		t.Errorf("removing one thread left %d of %d", n, len(names))
	}
}

// meant returns what a query must find, by the order keys.
func meant(all map[string]*posthouse.Header, q posthouse.Query) (out []*posthouse.Header) {
	for _, h := range all {
		if q.Match(h) {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b *posthouse.Header) int { return bytes.Compare(a.Order[:], b.Order[:]) })
	return out
}

func namesListed(t *T) {
	var all []*posthouse.ThreadInfo
	prefixes := map[string]bool{"": true, "\U0010ffff\U0010ffff": true, "\xff": true, "\xf4": true}
	for i, name := range names {
		l := t.Builder.Log(name)
		items := []Item{l.Checkpoint(posthouse.Header{Status: posthouse.StatusRunning}, "x")}
		if i%2 == 0 {
			items = []Item{l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting}, "x"), l.Gate(t.Builder.GateID(), t.Builder.Now())}
		}
		t.mustAppend(l, items...)
		all = append(all, l.Info)
		for n := 1; n <= min(len(name), 4); n++ {
			prefixes[name[:n]] = true
		}
		prefixes[name] = true
	}
	for prefix := range prefixes {
		for _, q := range []posthouse.ThreadQuery{{Prefix: prefix}, {Prefix: prefix, Descending: true}, {Prefix: prefix, Descending: true, Limit: 2}, {Prefix: prefix, Waiting: true}} {
			t.WantThreads(fmt.Sprintf("%+q", fmt.Sprintf("%+v", q)), t.Threads(q), model.Threads(all, q)...)
		}
	}
	for _, q := range []posthouse.ThreadQuery{{}, {Descending: true}, {Waiting: true}, {Runnable: true, Descending: true}} {
		want := threadNames(model.Threads(all, q))
		var got []string
		for q.Limit = 7; ; q.After = got[len(got)-1] {
			page := threadNames(t.Threads(q))
			got = append(got, page...)
			if len(page) < 7 || len(got) > len(all) {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: pages give %q, want %q", q, got, want)
		}
	}
}

func namesSlots(t *T) {
	keys := []posthouse.SlotKey{
		{Thread: "a.b", Step: "c"}, {Thread: "a", Step: "b.c"}, {Thread: "a\\", Step: ".b.c"}, {Thread: "a\\.b", Step: "c"}, {Thread: "a%2Eb", Step: "c"}, {Thread: "a..b", Step: "c"},
		{Thread: "a/b", Step: "c"}, {Thread: "a", Step: "b/c"}, {Thread: "a", Step: "b"}, {Thread: "A", Step: "b"}, {Thread: "a", Step: "B"},
	}
	for _, name := range names {
		keys = append(keys, posthouse.SlotKey{Thread: name, Step: "step"}, posthouse.SlotKey{Thread: "one", Step: name})
	}
	for i, key := range keys {
		t.put(key, fmt.Sprint("value ", i), 0, 0)
	}
	for i, key := range keys {
		t.wantSlot(key, fmt.Sprint("value ", i), 1)
	}
	_, err := t.Store.Slot(t.ctx, keys[0], posthouse.SlotOp{Verb: posthouse.SlotDelete, Revision: 1})
	t.OK(err)
	for i, key := range keys[1:] {
		t.wantSlot(key, fmt.Sprint("value ", i+1), 1)
	}
}

func namesNodes(t *T) {
	l := t.Builder.Log("t")
	at := map[string]*posthouse.Header{}
	for _, written := range []string{"a", "b", "a+b", "a%2Bb", "a%2Bb+c", "a%2Fb", "a/b", "a%252Bb", "50%", "日本+a%23", "outer%2F/in+out", "%2B", "a%2bb"} {
		at[written] = t.checkpoint(l, posthouse.Header{Node: written}, written)
	}
	for want, written := range map[string][]string{
		"a": {"a", "a+b"}, "b": {"b", "a+b"}, "a+b": {"a+b", "a%2Bb", "a%2Bb+c"}, "a%2Bb": {"a%2Bb", "a%2Bb+c", "a%252Bb"}, "c": {"a%2Bb+c"},
		"a/b": {"a%2Fb", "a/b"}, "a%2Fb": {"a%2Fb"}, "50%": {"50%"}, "日本": {"日本+a%23"}, "a#": {"日本+a%23"}, "a%23": {"日本+a%23"},
		"outer%2F/in": {"outer%2F/in+out"}, "out": {"outer%2F/in+out"}, "+": {"%2B"}, "%2B": {"%2B"}, "a%252Bb": {"a%252Bb"}, "a%2bb": {"a%2bb"}, "A": nil, "a+c": nil,
	} {
		var hs []*posthouse.Header
		for _, w := range written {
			hs = append(hs, at[w])
		}
		slices.SortFunc(hs, func(a, b *posthouse.Header) int { return int(a.Seq) - int(b.Seq) })
		t.WantHeaders("of node "+want, t.List(posthouse.Query{Node: want}), hs...)
		t.WantHeaders("of node "+want+" in the thread", t.List(posthouse.Query{Thread: "t", Node: want}), hs...)
	}
}

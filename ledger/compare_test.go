package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/diff"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/transfer"
)

func jsonState(parts ...string) posthouse.State {
	s := posthouse.State{}
	for i := 0; i < len(parts); i += 2 {
		s[parts[i]] = posthouse.Value{Codec: "json", Data: []byte(parts[i+1])}
	}
	return s
}

func compared(a, b posthouse.State) []diff.PartChange {
	return diff.States(&posthouse.Checkpoint{State: a}, &posthouse.Checkpoint{State: b}).Parts
}

// written writes a change as "part change: -before +after (path change ...)".
func written(p *diff.PartChange) string {
	s := p.Name + " " + p.Change + ":"
	value := func(mark string, v json.RawMessage) string {
		if v == nil {
			return ""
		}
		return " " + mark + string(v)
	}
	for mark, side := range map[string]*diff.PartSide{"-": p.A, "+": p.B} {
		if side != nil && side.Value == nil {
			side.Value = json.RawMessage("?" + mark)
		}
	}
	if p.A != nil {
		s += value("-", p.A.Value)
	}
	if p.B != nil {
		s += value("+", p.B.Value)
	}
	for _, c := range p.Paths {
		s += " (" + c.Path + " " + c.Change + value("-", c.A) + value("+", c.B) + ")"
	}
	return s
}

func TestCompareStates(t *testing.T) {
	raw := posthouse.State{"bin": {Codec: "raw", Data: []byte{0xff}}, "text": {Codec: "raw", Data: []byte("<hi>")}}
	for _, c := range []struct {
		name string
		a, b posthouse.State
		want string
	}{
		{"equal", jsonState("x", "1"), jsonState("x", "1"), ""},
		{"parts", jsonState("gone", "1"), jsonState("new", `"v"`), `gone removed: -1; new added: +"v"`},
		{"scalar", jsonState("ok", "false"), jsonState("ok", "true"), `ok changed: -false +true ( changed -false +true)`},
		{"append", jsonState("m", `[{"a":1}]`), jsonState("m", `[{"a":1},{"a":2}]`), `m changed: -[{"a":1}] +[{"a":1},{"a":2}] (/1 added +{"a":2})`},
		{"prepend", jsonState("m", `["b"]`), jsonState("m", `["a","b"]`), `m changed: -["b"] +["a","b"] (/0 added +"a")`},
		{"nested", jsonState("m", `{"a/b":{"c":[1,2]},"d":1}`), jsonState("m", `{"a/b":{"c":[1,3]},"e":1}`),
			`m changed: -{"a/b":{"c":[1,2]},"d":1} +{"a/b":{"c":[1,3]},"e":1} (/a~1b/c/1 changed -2 +3) (/d removed -1) (/e added +1)`},
		{"type", jsonState("m", `{}`), jsonState("m", `[]`), `m changed: -{} +[] ( changed -{} +[])`},
		{"null is a value", jsonState("m", `{"a":null}`), jsonState("m", `{}`), `m changed: -{"a":null} +{} (/a removed -null)`},
		{"writing", jsonState("m", `{"a": 1}`), jsonState("m", `{"a":1}`), `m changed: -{"a": 1} +{"a":1}`},
		{"big", jsonState("n", `1152921504606846976`), jsonState("n", `1152921504606846977`),
			`n changed: -1152921504606846976 +1152921504606846977 ( changed -1152921504606846976 +1152921504606846977)`},
		{"raw", nil, raw, `bin added: +?+; text added: +"<hi>"`},
		{"codec", jsonState("m", `1`), posthouse.State{"m": {Codec: "raw", Data: []byte("1")}}, `m changed: -1 +"1"`},
	} {
		var out []string
		for _, p := range compared(c.a, c.b) {
			out = append(out, written(&p))
		}
		if got := strings.Join(out, "; "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestCompareMissesNoChange: a part is named exactly when its bytes differ.
func TestCompareMissesNoChange(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) posthouse.Value {
		v := rapid.SampledFrom([]string{`1`, `[1,2]`, `[2,1]`, `{"a":[]}`, `{"a":null}`, `{"a": null}`, `"x"`, `[[1],[1,2]]`}).Draw(t, "v")
		return posthouse.Value{Codec: rapid.SampledFrom([]string{"json", "raw"}).Draw(t, "codec"), Data: []byte(v)}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := posthouse.State{"p": value.Draw(t, "a")}, posthouse.State{"p": value.Draw(t, "b")}
		same := a["p"].Codec == b["p"].Codec && string(a["p"].Data) == string(b["p"].Data)
		got := compared(a, b)
		if (len(got) == 0) != same || !same && got[0].A.Hash == got[0].B.Hash && got[0].A.Codec == got[0].B.Codec {
			t.Fatalf("%s and %s: %v", a["p"].Data, b["p"].Data, got)
		}
	})
}

// TestCompareIsBounded compares states that differ everywhere.
func TestCompareIsBounded(t *testing.T) {
	list := func(prefix string) string {
		var vs []string
		for i := range 20000 {
			vs = append(vs, fmt.Sprintf("%q", fmt.Sprint(prefix, i)))
		}
		return "[" + strings.Join(vs, ",") + "]"
	}
	p := compared(jsonState("m", list("a")), jsonState("m", list("b")))[0]
	if len(p.Paths) != 1000 || p.More != 19000 || p.A.Value != nil || p.A.Size == 0 {
		t.Errorf("%d paths and %d more, a value of %d bytes", len(p.Paths), p.More, len(p.A.Value))
	}
}

// TestCompareFields names what differs in the headers, and the metadata.
func TestCompareFields(t *testing.T) {
	a := &posthouse.Checkpoint{Header: posthouse.Header{Node: "n", Status: posthouse.StatusWaiting, Next: []string{"x", "y"}, Branch: "main"}}
	b := a.Clone()
	b.Status, b.Next, b.Labels, b.Metadata = posthouse.StatusDone, nil, map[string]string{"k": "v", "a": "b"}, map[string]string{"m": "1"}
	c := diff.States(a, b)
	want := []diff.FieldChange{{Name: "status", A: "waiting", B: "done"}, {Name: "next", A: "x, y"}, {Name: "labels", B: "a=b, k=v"}}
	if fmt.Sprint(c.Fields) != fmt.Sprint(want) || len(c.Parts) != 1 || c.Parts[0].Name != "$meta" {
		t.Errorf("got %+v", c)
	}
}

// TestCompareFindsTheAncestor across branches, forks into threads, released
// versions, copies and deletions.
func TestCompareFindsTheAncestor(t *testing.T) {
	ctx := t.Context()
	l, err := ledger.Open(memstore.New(), nil)
	if err != nil {
		t.Fatal(err)
	}
	save := func(c *posthouse.Checkpoint) *posthouse.Checkpoint {
		t.Helper()
		c, err := l.Save(ctx, c, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	fork := func(c *posthouse.Checkpoint, o *ledger.ForkOptions) *posthouse.Checkpoint {
		t.Helper()
		f, err := l.Fork(ctx, c.ID, o)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	check := func(what string, a, b *posthouse.Checkpoint, want posthouse.ID) {
		t.Helper()
		for range 2 {
			got, err := diff.Compare(ctx, l, a.ID, b.ID)
			if err != nil || got.Ancestor != want {
				t.Errorf("%s: %+v, error %v, want ancestor %q", what, got, err, want)
			}
			a, b = b, a
		}
	}
	base := save(posthouse.Root("t", jsonState("n", "0")))
	for range 300 {
		base = save(base.Derive(base.State))
	}
	left := save(base.Derive(jsonState("n", "1")))
	right := save(fork(base, nil).Derive(jsonState("n", "2")))
	away := save(fork(right, &ledger.ForkOptions{Thread: "u"}).Derive(jsonState("n", "3")))
	check("itself", left, left, left.ID)
	check("a parent", base, left, base.ID)
	check("branches", left, right, base.ID)
	check("another thread", left, away, base.ID)
	check("its source", right, away, right.ID)
	check("nothing", left, save(posthouse.Root("other", jsonState("n", "0"))), "")
	check("another root", left, save(posthouse.Root("t", jsonState("n", "9"))), "")

	info, err := transfer.CopyThread(ctx, l, "t", "copy", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := info.Branch("fork-1")
	copied, err := l.Get(ctx, b.Head)
	if err != nil {
		t.Fatal(err)
	}
	check("a copy and its original", right, copied, right.ID)
	check("a copy", left, copied, base.ID)
	if _, err := retain.Delete(ctx, l, base.ID, &retain.DeleteOptions{Mode: retain.DeleteOrphan}); err != nil {
		t.Fatal(err)
	}
	check("a deleted one", left, right, base.Parent)
	if _, err := l.Release(ctx, "t", nil); err != nil {
		t.Fatal(err)
	}
	again := save(fork(right, nil).Derive(jsonState("n", "4")))
	check("a released version", left, again, base.Parent)
	check("what was taken up", right, again, right.ID)
	if c, err := diff.Compare(ctx, l, left.ID, "unknown"); err == nil || c != nil {
		t.Errorf("an unknown checkpoint was compared: %+v", c)
	}
}

func TestCompareJSON(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{"a":1,"b":[1]}`, `{"b":[1],"a":1}`, ``},
		{`{"amount":9007199254740993}`, `{"amount":9007199254740992}`, `changed /amount 9007199254740993 9007199254740992`},
		{``, `{"a":1}`, `changed  null {"a":1}`},
		{``, ``, ``},
		{`{"a":1}`, `{`, `changed  "{\"a\":1}" "{"`},
	} {
		var got []string
		paths, more := diff.JSON(json.RawMessage(c.a), json.RawMessage(c.b))
		for _, p := range paths {
			got = append(got, fmt.Sprintf("%s %s %s %s", p.Change, p.Path, p.A, p.B))
		}
		if s := strings.Join(got, "; "); s != c.want || more != 0 {
			t.Errorf("%s and %s differ by %q, %d more", c.a, c.b, s, more)
		}
	}
}

// TestBeforeShowsWhatChanged: a gate that asks in the place of another says what that one showed, and
// names 50 differences; one that cannot be read says nothing.
func TestBeforeShowsWhatChanged(t *testing.T) {
	ctx, l := t.Context(), open(t, nil)
	ask := func(of posthouse.ID, payload any) *posthouse.Gate {
		done := must.Get(l.Commit(ctx, &ledger.Draft{
			Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindWait, Status: posthouse.StatusWaiting},
			Gates: []posthouse.Gate{{Name: "pay", Text: "Pay?", Payload: must.Get(json.Marshal(payload))(t), Supersedes: of}},
		}))(t)
		return must.Get(l.Gate(ctx, done.Gates[0].ID))(t)
	}
	many := func(n int) (list []int) {
		for i := range 60 {
			list = append(list, i*n)
		}
		return list
	}
	first := ask("", map[string]any{"amount": 500, "to": "alice"})
	if b := diff.Before(ctx, l, first); b != nil {
		t.Errorf("the first question was asked before: %+v", b)
	}
	second := ask(first.ID, map[string]any{"amount": 700, "to": "alice"})
	if b := diff.Before(ctx, l, second); b == nil || b.ID != first.ID || !b.Changed || b.Text != "Pay?" || len(b.Paths) != 1 || b.Paths[0].Path != "/amount" || b.More != 0 {
		t.Errorf("before the second question: %+v", b)
	}
	third := ask(second.ID, map[string]any{"amount": 700, "to": "alice"})
	if b := diff.Before(ctx, l, third); b == nil || b.Changed || len(b.Paths) != 0 {
		t.Errorf("before the same question: %+v", b)
	}
	long := ask(ask("", many(1)).ID, many(2))
	if b := diff.Before(ctx, l, long); b == nil || len(b.Paths) != 50 || b.More != 9 {
		t.Errorf("of 59 differences it names %+v", b)
	}
	if b := diff.Before(ctx, l, ask("gate-unknown", 1)); b != nil {
		t.Errorf("a question that is not there: %+v", b)
	}
}

package lists_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/lists"
)

func ExampleMarks() {
	t := &posthouse.ThreadInfo{Thread: "order-12", Graph: "refund", Status: posthouse.StatusWaiting, Labels: map[string]string{"customer": "acme"}}
	for _, mark := range lists.Marks(t) {
		fmt.Printf("%q\n", mark)
	}
	// Output:
	// "e21-redro"
	// "lacme\x00customer"
	// "prefund"
	// "swaiting"
}

// TestAppendMarks compares both ways to the same marks.
func TestAppendMarks(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "order-12", "日本", "\U0010ffff"})
	rapid.Check(t, func(rt *rapid.T) {
		info := &posthouse.ThreadInfo{
			Thread: text.Draw(rt, "thread"), Graph: text.Draw(rt, "graph"), Status: posthouse.Status(text.Draw(rt, "status")),
			Labels: rapid.MapOfN(text, text, 0, 3).Draw(rt, "labels"),
		}
		var want []byte
		for _, m := range lists.Marks(info) {
			want = append(append(want, byte(len(m)>>8), byte(len(m))), m...)
		}
		if got := lists.AppendMarks(nil, info); string(got) != string(want) {
			rt.Fatalf("%+v has %q, want %q", info, got, want)
		}
	})
}

// TestSetsHoldEveryMatch: whatever a query selects is in each of its sets, and in the list that it
// walks. Texts end in the middle of characters, too.
func TestSetsHoldEveryMatch(t *testing.T) {
	few := rapid.SampledFrom([]string{"a", "ab", "abcd", "zabcd", "é", "éé", "日本", "\U0010ffff", "abc\U0010ffff"})
	rapid.Check(t, func(t *rapid.T) {
		info := &posthouse.ThreadInfo{
			Thread: few.Draw(t, "thread"), Graph: rapid.SampledFrom([]string{"", "a", "ab"}).Draw(t, "graph"),
			Status: rapid.SampledFrom([]posthouse.Status{"", posthouse.StatusDone, posthouse.StatusFailed}).Draw(t, "status"),
			Labels: rapid.MapOf(few, few).Draw(t, "labels"),
		}
		text := few.Draw(t, "text")
		q := posthouse.ThreadQuery{
			Text: text[:rapid.IntRange(0, len(text)).Draw(t, "of it")], Graph: rapid.SampledFrom([]string{"", "a"}).Draw(t, "of"),
			Status: rapid.SampledFrom([]posthouse.Status{"", posthouse.StatusDone}).Draw(t, "with"),
			Newest: rapid.Bool().Draw(t, "newest"),
		}
		if rapid.Bool().Draw(t, "by label") {
			q.Label, q.LabelValue = few.Draw(t, "label"), few.Draw(t, "value")
		}
		if !q.Match(info) {
			return
		}
		marks := lists.Marks(info)
		if walk := lists.Walk(&q); walk != "" && !slices.Contains(marks, walk) {
			t.Fatalf("%+v walks %q, and the thread has %q", q, walk, marks)
		}
		for _, set := range lists.Sets(&q) {
			in := set.Prefix != "" && strings.HasPrefix(info.Thread, set.Prefix)
			for _, r := range set.Ranges {
				in = in || slices.ContainsFunc(marks, func(m string) bool { return m >= r.From && m < r.To })
			}
			if !in {
				t.Fatalf("%+v: the thread %+v with marks %q is not in %+v", q, info, marks, set)
			}
		}
	})
}

func TestAfter(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a\xff": "b", "\xff": "", "": "", "ab": "ac", "a\ufffd": "a\xef\xbf\xbe"} {
		if have := lists.After(prefix); have != want {
			t.Errorf("After(%q) is %q, want %q", prefix, have, want)
		}
	}
}

func TestOrderSortsAndLeavesOut(t *testing.T) {
	places := func() []lists.Place {
		return []lists.Place{{1, "b", 60000}, {2, "a", 120000}, {1, "b", 60000}, {3, "c", 60000}, {4, "d", 0}}
	}
	for _, c := range []struct {
		q    posthouse.ThreadQuery
		want []int64
	}{
		{posthouse.ThreadQuery{}, []int64{2, 1, 3, 4}},
		{posthouse.ThreadQuery{Descending: true}, []int64{4, 3, 1, 2}},
		{posthouse.ThreadQuery{After: "b"}, []int64{3, 4}},
		{posthouse.ThreadQuery{Newest: true}, []int64{2, 3, 1, 4}},
		{posthouse.ThreadQuery{Newest: true, After: "60000.c"}, []int64{1, 4}},
	} {
		found, err := lists.Order(&c.q, places())
		var have []int64
		for _, p := range found {
			have = append(have, p.ID)
		}
		if err != nil || !slices.Equal(have, c.want) {
			t.Errorf("%+v: %v, %v; want %v", c.q, have, err, c.want)
		}
	}
	if _, err := lists.Order(&posthouse.ThreadQuery{Newest: true, After: "x"}, places()); err == nil {
		t.Error("a cursor of another order is taken")
	}
}

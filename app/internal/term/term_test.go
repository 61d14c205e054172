package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/base/text"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ in, line, text string }{
		{"plain", "plain", "plain"},
		{"größer 日本", "größer 日本", "größer 日本"},
		{"\x1b[31mred\x1b[0m", "‹U+001B›[31mred‹U+001B›[0m", "‹U+001B›[31mred‹U+001B›[0m"},
		{"\x1b]0;title\a", "‹U+001B›]0;title‹U+0007›", "‹U+001B›]0;title‹U+0007›"},
		{"a\nb\tc\r", "a b c‹U+000D›", "a\nb\tc‹U+000D›"},
		{"a\r\nb", "a b", "a\nb"},
		{"\u009b2J", "‹U+009B›2J", "‹U+009B›2J"},
		{"abc\u202edef", "abc‹U+202E›def", "abc‹U+202E›def"},
		{"x\u200by", "x‹U+200B›y", "x‹U+200B›y"},
		{"a\u3164\u034f\ufe0f\u2800\U000e0041", "a‹U+3164›‹U+034F›‹U+FE0F›‹U+2800›‹U+E0041›", "a‹U+3164›‹U+034F›‹U+FE0F›‹U+2800›‹U+E0041›"},
		{"bad\xff", "bad\ufffd", "bad\ufffd"},
		{"Аcme\nGmbH", "‹Cyrillic А›cme GmbH", "‹Cyrillic А›cme\nGmbH"},
		{"", "", ""},
	} {
		if got := Visible(c.in); got != c.line {
			t.Errorf("Visible(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := VisibleText(c.in); got != c.text {
			t.Errorf("VisibleText(%q) = %q, want %q", c.in, got, c.text)
		}
	}
}

// TestJSONForPeople: JSON that people look at has escapes for letters of another script, and says the same.
func TestJSONForPeople(t *testing.T) {
	var out bytes.Buffer
	tt := &Term{Out: &out}
	tt.QuoteJSON(json.RawMessage(`{"to":"Аcme","in":"Москва"}`))
	tt.Indented(json.RawMessage(`["Аcme"]`))
	if want := "  | {\n  |   \"to\": \"\\u0410cme\",\n  |   \"in\": \"Москва\"\n  | }\n[\n  \"\\u0410cme\"\n]\n"; out.String() != want {
		t.Errorf("it prints %s, want %s", out.String(), want)
	}
	out.Reset()
	tt.Format = JSON
	if err := tt.Encode("Аcme"); err != nil || out.String() != "\"Аcme\"\n" {
		t.Errorf("for programs it prints %s: %v", out.String(), err)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b[2Jb\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		line := Visible(s)
		if !utf8.ValidString(line) || strings.ContainsFunc(line, text.Hidden) {
			t.Errorf("Visible(%q) = %q", s, line)
		}
		if Visible(line) != line {
			t.Errorf("Visible is not idempotent on %q", s)
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		esc := EscapeJSON(data)
		if strings.ContainsFunc(string(esc), text.Hidden) {
			t.Errorf("EscapeJSON(%q) = %q", data, esc)
		}
		_ = json.Unmarshal(data, &want)
		if err := json.Unmarshal(esc, &got); err != nil || got != want {
			t.Errorf("EscapeJSON(%q) reads as %q, want %q (%v)", data, got, want, err)
		}
	})
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	tt := &Term{Out: &out}
	tt.Table([]string{"ID", "TEXT"}, [][]string{{"1", "one\x1b[2J"}, {"22", "größer"}})
	want := "ID  TEXT\n1   one‹U+001B›[2J\n22  größer\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	tt.Table([]string{"ID", "NAME", "X"}, [][]string{{"1", "日本語", "."}, {"2", "👍🏽 ok", "."}, {"3", "e\u0301", "."}, {"4", "🇩🇪ﾊ", "."}, {"5", "plain", "."}})
	for line := range strings.Lines(out.String()) {
		if w := Width(line[:len(line)-2]); w != 12 {
			t.Errorf("%q: the last column begins at %d", line, w)
		}
	}
	out.Reset()
	tt.Table([]string{"ID"}, nil)
	if out.Len() != 0 {
		t.Errorf("an empty table printed %q", out.String())
	}
}

func TestLineStripsArguments(t *testing.T) {
	var out bytes.Buffer
	tt := &Term{Out: &out, Color: true}
	tt.Line("%s %d %s", "evil\x1b[2J\n", 3, tt.Paint(Good, "ok\a"))
	if want := "evil‹U+001B›[2J  3 \x1b[32mok‹U+0007›\x1b[0m\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestConfirm(t *testing.T) {
	ask := func(in string, interactive, yes bool) bool {
		t.Helper()
		tt := &Term{In: strings.NewReader(in), Err: &bytes.Buffer{}, Interactive: interactive}
		ok, err := tt.Confirm(yes, "delete?")
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !ask("", false, false) || !ask("", true, true) || !ask("Yes\n", true, false) {
		t.Error("not granted")
	}
	if ask("\n", true, false) || ask("", true, false) || ask("n\n", true, false) {
		t.Error("granted")
	}
}

func TestNullIsNoTerminal(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsTerminal(f) || IsTerminal(nil) {
		t.Error("the null device is taken for a terminal")
	}
}

func TestProgressWaitsASecond(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	tt := &Term{Err: &out}
	p := tt.Progress(func() time.Time { return now })
	p.Update("done %d", 1)
	now = now.Add(1500 * time.Millisecond)
	p.Update("done %d", 2)
	p.Update("done %d", 3)
	now = now.Add(11 * time.Second)
	p.Update("done %s", "4\x1b")
	p.Done()
	if out.String() != "done 2\ndone 4‹U+001B›\n" {
		t.Errorf("got %q", out.String())
	}
	out.Reset()
	tt.Interactive = true
	p = tt.Progress(func() time.Time { return now })
	now = now.Add(2 * time.Second)
	p.Update("long line")
	p.Done()
	if out.String() != "\rlong line\r         \r" {
		t.Errorf("got %q", out.String())
	}
}

func TestDuring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		tt := &Term{Err: &out}
		boom := errors.New("boom")
		if err := tt.During(time.Now, "packing", func() error { return boom }); err != boom || out.Len() > 0 {
			t.Errorf("short work: %v, %q", err, out.String())
		}
		err := tt.During(time.Now, "packing", func() error { <-time.After(12500 * time.Millisecond); return nil })
		if err != nil || out.String() != "packing, 1s so far\npacking, 11s so far\n" {
			t.Errorf("long work: %v, %q", err, out.String())
		}
	})
}

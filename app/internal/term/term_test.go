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
)

func TestStrip(t *testing.T) {
	for _, c := range []struct{ in, line, text string }{
		{"plain", "plain", "plain"},
		{"größer 日本", "größer 日本", "größer 日本"},
		{"\x1b[31mred\x1b[0m", "[31mred[0m", "[31mred[0m"},
		{"\x1b]0;title\a", "]0;title", "]0;title"},
		{"a\nb\tc\r", "a b c", "a\nb\tc"},
		{"\u009b2J", "2J", "2J"},
		{"abc\u202edef", "abcdef", "abcdef"},
		{"x\u200by", "xy", "xy"},
		{"bad\xff", "bad\ufffd", "bad\ufffd"},
		{"", "", ""},
	} {
		if got := Strip(c.in); got != c.line {
			t.Errorf("Strip(%q) = %q, want %q", c.in, got, c.line)
		}
		if got := StripText(c.in); got != c.text {
			t.Errorf("StripText(%q) = %q, want %q", c.in, got, c.text)
		}
	}
}

func FuzzStrip(f *testing.F) {
	f.Add("a\x1b[2Jb\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		line := Strip(s)
		if !utf8.ValidString(line) || strings.ContainsFunc(line, hidden) {
			t.Errorf("Strip(%q) = %q", s, line)
		}
		if Strip(line) != line {
			t.Errorf("Strip is not idempotent on %q", s)
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		esc := EscapeJSON(data)
		if strings.ContainsFunc(string(esc), hidden) {
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
	want := "ID  TEXT\n1   one[2J\n22  größer\n"
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
	if want := "evil[2J  3 \x1b[32mok\x1b[0m\n"; out.String() != want {
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
	if out.String() != "done 2\ndone 4\n" {
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

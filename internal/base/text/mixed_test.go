package text

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// A shown is a text as people see it, on the pages and everywhere else.
type shown struct {
	Text, Shown         string
	Unseen, Mixed, Long []string
}

func readShown(t testing.TB) (all []shown) {
	data, err := os.ReadFile("testdata/shown.json")
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil || len(all) < 30 {
		t.Fatalf("testdata/shown.json has %d texts: %v", len(all), err)
	}
	return all
}

// TestShown: texts are shown as the pages show them: a test there reads the same file.
func TestShown(t *testing.T) {
	for _, c := range readShown(t) {
		if got := Visible(c.Text); got != c.Shown || Visible(got) != got {
			t.Errorf("%q is shown as %q and then %q, want %q", c.Text, got, Visible(got), c.Shown)
		}
		var m Marks
		m.Add(c.Text)
		if !slices.Equal(m.Unseen, c.Unseen) || !slices.Equal(m.Mixed, c.Mixed) || !slices.Equal(m.Long, c.Long) {
			t.Errorf("%q has the marks %+v, want %q, %q and %q", c.Text, m, c.Unseen, c.Mixed, c.Long)
		}
	}
}

// TestSameLetters: the pages take the same letters for Latin ones.
func TestSameLetters(t *testing.T) {
	source, err := os.ReadFile("../../../ui/web/src/text/hidden.ts")
	if err != nil {
		t.Fatal(err)
	}
	for _, letters := range []string{greekLetters, alikeLetters} {
		if !strings.Contains(string(source), "["+letters+"]") {
			t.Errorf("ui/web/src/text/hidden.ts has other letters than %s", letters)
		}
	}
	_, others, _ := strings.Cut(string(source), "const others =\n  /[")
	others, _, _ = strings.Cut(others, "]/;")
	in := regexp.MustCompile("[" + regexp.MustCompile(`\\u([0-9a-f]{4})`).ReplaceAllString(others, `\x{$1}`) + "]")
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) && in.MatchString(string(r)) != isOther(r) {
			t.Fatalf("of U+%04X hidden.ts says the opposite", r)
		}
	}
}

// TestWarning says what there is of each kind, and names the first of many.
func TestWarning(t *testing.T) {
	var m Marks
	if m.Warning() != "" {
		t.Errorf("nothing is marked, and it says %q", m.Warning())
	}
	m.Add("INV\u202e1 Аcme", strings.Repeat("\n", 6))
	if want := "characters that are not seen stand here: ‹U+202E›; letters of another script stand inside of words: ‹Cyrillic А›; " +
		"they can make one text look like another; text goes on after what shows nothing: ‹5 empty lines›"; m.Warning() != want {
		t.Errorf("it says %q, want %q", m.Warning(), want)
	}
	m = Marks{}
	m.Add("\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e")
	if want := "characters that are not seen stand here: ‹U+200B› ‹U+200C› ‹U+200D› ‹U+200E› ‹U+200F› ‹U+202A› ‹U+202B› ‹U+202C› and 2 others; " +
		"they can make one text look like another"; m.Warning() != want {
		t.Errorf("it says %q, want %q", m.Warning(), want)
	}
}

// TestEscapeMixed: JSON says the same, and a letter that follows an escape is in no word with it.
func TestEscapeMixed(t *testing.T) {
	for in, want := range map[string]string{
		`{"Аcme":"pаy"}`:         `{"\u0410cme":"p\u0430y"}`,
		`"a\nМосква \u0410cme"`:  `"a\nМосква \u0410cme"`,
		`"\\nаme"`:               `"\\n\u0430me"`,
		`"Mосква"`:               `"\u004dосква"`,
		`{"name":"РОСТ","n":12}`: `{"name":"РОСТ","n":12}`,
	} {
		if got := string(EscapeMixed([]byte(in))); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

var aMark = regexp.MustCompile(`‹(?:U\+([0-9A-F]+)|\pL+ (.))›`)

// FuzzVisible: what is shown has nothing hidden, is shown the same again, and loses nothing. Letters in JSON are
// escaped so that it says the same.
func FuzzVisible(f *testing.F) {
	for _, c := range readShown(f) {
		f.Add(c.Text)
		f.Add(c.Shown)
	}
	f.Add("‹Cyrillic а›‹U+20\u200b0B›‹5 spaces›\\u0430c\\n\xffо")
	f.Fuzz(func(t *testing.T, s string) {
		v := Visible(s)
		if !utf8.ValidString(v) || len(HiddenIn(v)) > 0 {
			t.Errorf("%q is shown as %q", s, v)
		}
		if again := Visible(v); again != v {
			t.Errorf("%q is shown as %q, and that as %q", s, v, again)
		}
		var m Marks
		m.Add(s)
		if len(m.Long) == 0 && utf8.ValidString(s) && !strings.Contains(s, "‹") {
			back := aMark.ReplaceAllStringFunc(v, func(mark string) string {
				parts := aMark.FindStringSubmatch(mark)
				if parts[1] == "" {
					return parts[2]
				}
				code, _ := strconv.ParseInt(parts[1], 16, 32)
				return string(rune(code))
			})
			if back != s || (v == s) != (m.Warning() == "") {
				t.Errorf("%q is shown as %q, which says %q; the warning is %q", s, v, back, m.Warning())
			}
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		_ = json.Unmarshal(data, &want)
		if err := json.Unmarshal(EscapeMixed(data), &got); err != nil || got != want {
			t.Errorf("%s becomes %s, which says %q: %v", data, EscapeMixed(data), got, err)
		}
	})
}

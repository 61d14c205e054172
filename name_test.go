package posthouse_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// TestNamesAmongOthers writes names as they stand in joined texts, and reads
// them back.
func TestNamesAmongOthers(t *testing.T) {
	for name, want := range map[string]string{
		"approve": "approve", "user@example.com": "user@example.com", "日本": "日本", "a b": "a b", "A.z_9:$-": "A.z_9:$-",
		"a+b": "a%2Bb", "a/b": "a%2Fb", "order#7": "order%237", "a>b": "a%3Eb", "50%": "50%25", "%2B": "%252B", "+": "%2B", "%/+#>": "%25%2F%2B%23%3E",
	} {
		got := posthouse.EscapeName(name)
		if got != want {
			t.Errorf("%q is written %q, want %q", name, got, want)
		}
		if back, err := posthouse.UnescapeName(got); err != nil || back != name {
			t.Errorf("%q reads back as %q: %v", name, back, err)
		}
	}
	for _, s := range []string{"a+b", "a/b", "a#1", "a>b", "%", "%2", "a%", "%2b", "%41", "%00", "%zz", "%2B+"} {
		if name, err := posthouse.UnescapeName(s); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%q is read as %q: %v", s, name, err)
		}
	}
}

// TestErrorsOfNamesPrintCharacters checks that an error shows the character at
// fault, not one byte of it, and says what a name is.
func TestErrorsOfNamesPrintCharacters(t *testing.T) {
	for _, c := range []struct {
		err   error
		wants []string
	}{
		{posthouse.ID("order-日本").Validate(), []string{"'日'", "byte 6"}},
		{posthouse.ID("a/b").Validate(), []string{"'/'", "byte 1"}},
		{posthouse.ValidateName("thread", "a\u0085b"), []string{"thread", "U+0085", "byte 1", "1 to 200 bytes"}},
		{posthouse.ValidateName("branch", "é\xff"), []string{"branch", "not valid UTF-8", "byte 2"}},
		{posthouse.ValidateName("agent", strings.Repeat("é", 101)), []string{"agent", "202 bytes", "200"}},
	} {
		for _, want := range c.wants {
			if !errors.Is(c.err, posthouse.ErrInvalid) || !strings.Contains(c.err.Error(), want) {
				t.Errorf("%v does not say %s", c.err, want)
			}
		}
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"", "a", "a+b", "%2B", "%2b", "a%", "日本", "\u0085", "caf\xe9", "\ufffd", strings.Repeat("%", 201), "outer%2F/in"} {
		f.Add(s)
	}
	written := regexp.MustCompile(`^(?s:[^%+/#>]|%25|%2B|%2F|%23|%3E)*$`)
	f.Fuzz(func(t *testing.T, s string) {
		err := posthouse.ValidateName("name", s)
		want := s != "" && len(s) <= 200 && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
		if (err == nil) != want || err != nil && !errors.Is(err, posthouse.ErrInvalid) {
			t.Fatalf("%q: %v", s, err)
		}
		if posthouse.ID(s).Validate() == nil && (err != nil || posthouse.EscapeName(s) != s) {
			t.Fatalf("%q was a name before, and is written %q: %v", s, posthouse.EscapeName(s), err)
		}
		e := posthouse.EscapeName(s)
		if back, err := posthouse.UnescapeName(e); err != nil || back != s || strings.ContainsAny(e, "+/#>") {
			t.Fatalf("%q is written %q, which reads back as %q: %v", s, e, back, err)
		}
		name, err := posthouse.UnescapeName(s)
		if utf8.ValidString(s) && (err == nil) != written.MatchString(s) {
			t.Fatalf("%q is read as %q: %v", s, name, err)
		}
		if err == nil && posthouse.EscapeName(name) != s {
			t.Fatalf("%q and %q are one name", s, posthouse.EscapeName(name))
		}
	})
}

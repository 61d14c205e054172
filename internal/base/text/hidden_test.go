package text

import (
	"slices"
	"testing"
)

// TestHidden: what people do not see gets a mark, what they see stays.
func TestHidden(t *testing.T) {
	for in, want := range map[string]string{
		"Pay \u202e001\u202c EUR": "Pay ‹U+202E›001‹U+202C› EUR",
		"\u3164\u034f\ufe0f":      "‹U+3164›‹U+034F›‹U+FE0F›",
		"\x1b[2J\r\x7f":           "‹U+001B›[2J‹U+000D›‹U+007F›",
		"größer\n日本\tשלום":        "größer\n日本\tשלום",
		"a\xffb":                  "a\ufffdb",
		"\u2800":                  "‹U+2800›",
	} {
		if got := Visible(in); got != want || Visible(got) != got {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string][]string{
		`{"a\u200b":"\u202e1","n":12345678901234567890,"b":["` + "\u202e" + `"]}`: {"‹U+200B›", "‹U+202E›"},
		"not JSON \u202e": {"‹U+202E›"},
		`{"a":"b\n"}`:     nil,
	} {
		var got Marks
		got.AddJSON([]byte(in))
		if !slices.Equal(got.Unseen, want) || got.Mixed != nil || got.Long != nil {
			t.Errorf("in %s there are %+v, want %q", in, got, want)
		}
	}
}

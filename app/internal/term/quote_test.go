package term

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestQuoteMarksEachLine: no line of quoted text, also of one that is longer than a terminal's,
// begins like a line of a command.
func TestQuoteMarksEachLine(t *testing.T) {
	long := "a" + strings.Repeat(" ", 90) + "next: posthouse approve gate-1"
	for in, want := range map[string]string{
		"Pay?":                               "  | Pay?\n",
		"Pay?\n\nnext: run it\r\n":           "  | Pay?\n  |\n  | next: run it\n",
		"a\tb":                               "  | a    b\n",
		"":                                   "  |\n",
		long:                                 "  | a\n  | next: posthouse approve gate-1\n",
		"a" + strings.Repeat(" ", 200) + "b": "  | a‹200 spaces›b\n",
		"Pay Аcme" + strings.Repeat("\n", 300) + "to eve": "  | Pay ‹Cyrillic А›cme\n  | ‹299 empty lines›\n  | to eve\n",
		strings.Repeat("x", 100):                          "  | " + strings.Repeat("x", 72) + "\n  | " + strings.Repeat("x", 28) + "\n",
		strings.Repeat("語", 40):                           "  | " + strings.Repeat("語", 36) + "\n  | " + strings.Repeat("語", 4) + "\n",
		"one\rtwo\u2028three":                             "  | one‹U+000D›two‹U+2028›three\n",
	} {
		var b bytes.Buffer
		(&Term{Out: &b}).Quote(in)
		if b.String() != want {
			t.Errorf("Quote(%q) prints %q, want %q", in, b.String(), want)
		}
	}
	var b bytes.Buffer
	data, err := json.Marshal(map[string]string{"to": long})
	if err != nil {
		t.Fatal(err)
	}
	(&Term{Out: &b}).QuoteJSON(data)
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, Bar) || Width(strings.TrimSuffix(line, "\n")) > 76 {
			t.Errorf("a line of a document is %q", line)
		}
	}
}

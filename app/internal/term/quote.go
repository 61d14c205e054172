package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rivo/uniseg"
)

// Bar begins each line of text that other people wrote. No line of a command's own begins so.
const Bar = "  | "

// quoteWidth is how many columns of a quoted line there are at most. A terminal has 80 or more, so
// it does not wrap the line: the rest would begin without [Bar].
const quoteWidth = 72

// Quote prints text of other people. Each line begins with [Bar], so that it does not pass for a
// line of the command. A long line goes on in the next.
func (t *Term) Quote(s string) { t.quote(VisibleText(s)) }

// QuoteJSON is Quote for a JSON document, indented and with escapes for what is not seen. Anything but
// JSON is quoted as text.
func (t *Term) QuoteJSON(raw json.RawMessage) {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		t.Quote(string(raw))
		return
	}
	t.quote(string(visibleJSON(b.Bytes())))
}

func (t *Term) quote(s string) {
	s = strings.ReplaceAll(s, "\t", "    ")
	for line := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		for more := true; more; {
			var part string
			part, line, more = cut(line, quoteWidth)
			fmt.Fprintln(t.Out, strings.TrimRight(Bar+part, " "))
		}
	}
}

// cut splits s after at most n columns, at a space if there is one.
func cut(s string, n int) (part, rest string, more bool) {
	space, at, left := 0, 0, s
	for width, state := 0, -1; left != ""; {
		var cluster string
		var w int
		cluster, left, w, state = uniseg.FirstGraphemeClusterInString(left, state)
		if width += w; width > n {
			if space > 0 {
				at = space
			}
			return s[:at], strings.TrimLeft(s[at:], " "), true
		}
		if at += len(cluster); cluster == " " {
			space = at
		}
	}
	return s, "", false
}

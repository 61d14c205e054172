package term

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse/internal/base/text"
)

// Visible makes s fit for one line. Line feeds and tabs become spaces. A character that
// acts on a terminal, reorders what it shows or is not seen becomes a mark, and so does a letter
// of another script than its word's: see [text.Visible].
func Visible(s string) string {
	return text.Visible(oneLine(s))
}

func oneLine(s string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s)
}

// Typeable is Visible for what a shell completes: see [text.Typeable].
func Typeable(s string) string { return text.Typeable(oneLine(s)) }

// VisibleText is Visible for text of several lines: line feeds and tabs stay.
func VisibleText(s string) string { return text.Visible(strings.ReplaceAll(s, "\r\n", "\n")) }

// visibleJSON writes what a person would not see in JSON, or take for another letter, as \u escapes, which leaves
// the JSON equal.
func visibleJSON(data []byte) []byte { return EscapeJSON(text.EscapeMixed(data)) }

// EscapeJSON writes hidden characters as \u escapes, which leaves the JSON equal.
// encoding/json escapes those below U+0020 itself.
func EscapeJSON(data []byte) []byte {
	out := make([]byte, 0, len(data)+16)
	s := string(data)
	for i := 0; i < len(data); {
		r, n, hidden := text.At(s, i)
		switch {
		case !hidden:
			out = append(out, data[i:i+n]...)
		case r > 0xffff:
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	return out
}

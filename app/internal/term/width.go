package term

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Width returns how many columns of a terminal s takes. An ideograph or an emoji
// takes two, a combining accent 0.
func Width(s string) int { return uniseg.StringWidth(s) }

// Pad returns s followed by spaces, up to width columns. A longer one is returned
// as it is.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-Width(s), 0))
}

// Clip shortens s to at most n columns, the last one an ellipsis. No character
// is cut in two.
func Clip(s string, n int) string {
	if len(s) <= n || Width(s) <= n {
		return s
	}
	var b strings.Builder
	for left, state := n-1, -1; ; {
		var cluster string
		var width int
		cluster, s, width, state = uniseg.FirstGraphemeClusterInString(s, state)
		if left -= width; left < 0 {
			return b.String() + "…"
		}
		b.WriteString(cluster)
	}
}

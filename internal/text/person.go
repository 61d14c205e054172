package text

import (
	"unicode"
)

// Invisible reports whether a character leaves no mark of its own.
func Invisible(r rune) bool {
	return r >= 0x80 && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

package schema

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// maxPattern bounds a regular expression by the size of its program, in instructions. A
// match costs as much for each byte at most.
const maxPattern = 2000

// A pattern is a regular expression and its size.
type pattern struct {
	*regexp.Regexp
	size int
}

// compilePattern compiles an expression once its size is known to be small: a repetition of
// repetitions is short to write.
func compilePattern(expr string) (*pattern, error) {
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := sizeOf(tree)
	if size > maxPattern {
		return nil, fmt.Errorf("the pattern %.40q has more than %d parts when its repetitions are written out", expr, maxPattern)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	return &pattern{re, size}, nil
}

// sizeOf returns about how many instructions an expression needs. It stops counting beyond
// the limit.
func sizeOf(t *syntax.Regexp) int {
	size := 1 + len(t.Rune)/16
	if t.Op == syntax.OpLiteral {
		size = len(t.Rune)
	}
	for _, sub := range t.Sub {
		if size += sizeOf(sub); size > maxPattern {
			return maxPattern + 1
		}
	}
	if t.Op == syntax.OpRepeat {
		if times := max(t.Min, t.Max, 1); times > maxPattern/size+1 {
			return maxPattern + 1
		} else {
			size *= times
		}
	}
	return size
}

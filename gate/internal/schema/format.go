package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// A width is a format of whole numbers: such a number is written in digits, and fits into that many
// bits. 10.0 and 1e1 are integers for a schema, and no decoder of an int64 takes them.
type width struct {
	name   string
	bits   int
	signed bool
}

// widthOf returns the width of a format, nil if it is no such format.
func widthOf(format string) *width {
	name, unsigned := strings.CutPrefix(format, "u")
	bits, ok := strings.CutPrefix(name, "int")
	n, err := strconv.Atoi(bits)
	if !ok || err != nil || n != 8 && n != 16 && n != 32 && n != 64 {
		return nil
	}
	return &width{format, n, !unsigned}
}

// inDigits reports whether a number has neither a point nor an exponent.
func inDigits(number string) bool { return !strings.ContainsAny(number, ".eE") }

// maxWritten bounds the digits of an integer that a message writes out.
const maxWritten = 20

// written says how to write an integer.
func written(number json.Number) string {
	n, ok := parseNumber(string(number))
	if !ok || n.exp > maxWritten {
		return "write one that its readers can hold"
	}
	digits := "0"
	if n.digits != "" {
		digits = n.digits + strings.Repeat("0", int(n.exp)-len(n.digits))
	}
	if n.negative && n.digits != "" {
		digits = "-" + digits
	}
	return "write " + digits
}

// takes reports whether a number is written in digits and fits.
func (w *width) takes(number string) bool {
	if !inDigits(number) {
		return false
	}
	var err error
	if w.signed {
		_, err = strconv.ParseInt(number, 10, w.bits)
	} else {
		_, err = strconv.ParseUint(number, 10, w.bits)
	}
	return err == nil
}

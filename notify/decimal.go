package notify

import (
	"cmp"
	"strconv"
	"strings"
)

// A decimal is a number as JSON writes it, without loss: 0.digits times ten to the power of exp.
// Its cost is its text's, however large the exponent.
type decimal struct {
	sign   int    // -1, 0 or 1
	digits string // without zeros at either end
	exp    int64
}

// maxExponent bounds the exponents that are told apart.
const maxExponent = 1 << 40

// parseDecimal reads a JSON number.
func parseDecimal(s string) (d decimal, ok bool) {
	d.sign = 1
	if t, minus := strings.CutPrefix(s, "-"); minus {
		d.sign, s = -1, t
	}
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i+1:]
		if exponent == "" {
			return d, false
		}
	}
	whole, part, point := strings.Cut(mantissa, ".")
	if !allDigits(whole) || point && !allDigits(part) || len(whole) > 1 && whole[0] == '0' {
		return d, false
	}
	if exponent != "" {
		sign := strings.TrimPrefix(strings.TrimPrefix(exponent, "+"), "-")
		if !allDigits(sign) || len(exponent)-len(sign) > 1 {
			return d, false
		}
		n, err := strconv.ParseInt(strings.TrimPrefix(exponent, "+"), 10, 64)
		if err != nil || n > maxExponent || n < -maxExponent {
			n = maxExponent
			if exponent[0] == '-' {
				n = -maxExponent
			}
		}
		d.exp = n
	}
	digits := whole + part
	d.exp += int64(len(whole))
	trimmed := strings.TrimLeft(digits, "0")
	d.exp -= int64(len(digits) - len(trimmed))
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		d.sign, d.exp = 0, 0
	}
	return d, true
}

func allDigits(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// compare returns -1, 0 or 1 as d is less than, equal to or more than o.
func (d *decimal) compare(o *decimal) int {
	if d.sign != o.sign || d.sign == 0 {
		return cmp.Compare(d.sign, o.sign)
	}
	return d.sign * cmp.Or(cmp.Compare(d.exp, o.exp), strings.Compare(d.digits, o.digits))
}

package schema

import (
	"math/big"
	"strconv"
	"strings"
)

// A number is a decimal as it is written: 0.digits times ten to the exponent, without zeros
// at either end. Zero has no digits.
type number struct {
	negative bool
	digits   string
	exp      int64
}

// maxExponent bounds exponents, so that they do not overflow.
const maxExponent = 1 << 40

// parseNumber reads a valid JSON number. It fails for an exponent beyond [maxExponent].
func parseNumber(s string) (n number, ok bool) {
	n.negative = strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.ParseInt(strings.TrimPrefix(s[i+1:], "+"), 10, 64)
		if err != nil || e > maxExponent || e < -maxExponent {
			if strings.Trim(s[:i], "0.") == "" {
				return number{}, true
			}
			return n, false
		}
		n.exp, s = e, s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	n.exp += int64(len(whole))
	all := whole + fraction
	n.digits = strings.TrimLeft(all, "0")
	n.exp -= int64(len(all) - len(n.digits))
	n.digits = strings.TrimRight(n.digits, "0")
	if n.digits == "" {
		return number{}, true
	}
	return n, true
}

// isInteger reports whether there is nothing after the point.
func (n number) isInteger() bool { return int64(len(n.digits)) <= n.exp || n.digits == "" }

// key is the same for numbers that are equal.
func (n number) key() string {
	sign := ""
	if n.negative {
		sign = "-"
	}
	return sign + n.digits + "e" + strconv.FormatInt(n.exp, 10)
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// compare returns -1, 0 or 1.
func (n number) compare(m number) int {
	if s, t := n.sign(), m.sign(); s != t || s == 0 {
		return cmpInt(int64(s), int64(t))
	}
	c := cmpInt(n.exp, m.exp)
	if c == 0 {
		c = strings.Compare(n.digits, m.digits) // 0.12 is less than 0.123
	}
	return c * n.sign()
}

func cmpInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// maxDigits bounds the numbers that are divided, in digits.
const maxDigits = 1000

// isMultiple reports whether n is a multiple of m, which is not zero and has at most
// [maxDigits]. It fails for an n with more.
func (n number) isMultiple(m number) (is, ok bool) {
	if n.digits == "" {
		return true, true
	}
	if len(n.digits) > maxDigits {
		return false, false
	}
	a, _ := new(big.Int).SetString(n.digits, 10)
	b, _ := new(big.Int).SetString(m.digits, 10)
	shift := (n.exp - int64(len(n.digits))) - (m.exp - int64(len(m.digits))) // of the last digits
	ten := big.NewInt(10)
	if shift >= 0 {
		a.Mul(a, new(big.Int).Exp(ten, big.NewInt(shift), b))
	} else {
		if shift < -maxDigits {
			return false, true // n has no zeros at its end
		}
		b.Mul(b, new(big.Int).Exp(ten, big.NewInt(-shift), nil))
	}
	return a.Mod(a, b).Sign() == 0, true
}

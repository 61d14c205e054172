package usage

import (
	"math/big"
	"regexp"
	"strings"
)

// A Cost is a sum in one unit.
type Cost struct {
	Amount string `json:"amount" doc:"the sum, exactly: digits with a point"`
	Unit   string `json:"unit" doc:"as the program wrote it, such as USD; empty where it wrote a number alone"`
	sum    decimal
}

// String is the amount with its unit.
func (c Cost) String() string { return strings.TrimSpace(c.Amount + " " + c.Unit) }

// A decimal is value / 10^places.
type decimal struct {
	value  big.Int
	places int
}

func (d *decimal) add(o *decimal) {
	a, b := &d.value, &o.value
	if d.places < o.places {
		a = scaled(a, o.places-d.places)
		d.places = o.places
	} else if o.places < d.places {
		b = scaled(b, d.places-o.places)
	}
	d.value.Add(a, b)
}

func scaled(v *big.Int, by int) *big.Int {
	return new(big.Int).Mul(v, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(by)), nil))
}

// String writes all places, without an exponent.
func (d *decimal) String() string {
	text := new(big.Int).Abs(&d.value).String()
	if d.places > 0 {
		text = strings.Repeat("0", max(0, d.places+1-len(text))) + text
		text = text[:len(text)-d.places] + "." + text[len(text)-d.places:]
	}
	if d.value.Sign() < 0 {
		return "-" + text
	}
	return text
}

// amounts are a number with a unit after it, or before it: 0.42 USD, USD 0.42, $0.42, 12. A group of
// digits has no separators: 1,000 may be a thousand or one.
var amounts = regexp.MustCompile(`^\s*([\p{L}\p{Sc}]*)\s*(-?)(\d{1,40})(?:\.(\d{1,40}))?\s*([\p{L}\p{Sc}]*)\s*$`)

// parse reads a cost as programs note it. It refuses what may be read in two ways.
func parse(text string) (*decimal, string, bool) {
	m := amounts.FindStringSubmatch(text)
	if m == nil || m[1] != "" && m[5] != "" {
		return nil, "", false
	}
	d := &decimal{places: len(m[4])}
	if _, ok := d.value.SetString(m[2]+m[3]+m[4], 10); !ok {
		return nil, "", false
	}
	return d, m[1] + m[5], true
}

package usage

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestParse: a cost is read exactly, and one that may be read in two ways is refused.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"0.0042 USD": "0.0042 USD", "USD 0.0042": "0.0042 USD", "$0.10": "0.10 $", " 12 ": "12", "-3.50 EUR": "-3.50 EUR", "007 CHF": "7 CHF",
		"9007199254740993.01 EUR": "9007199254740993.01 EUR", "0.000000000000000000000001 XMR": "0.000000000000000000000001 XMR",
		"1,000 USD": "", "1.000,5 EUR": "", "1e9 USD": "", "USD 1 EUR": "", "": "", "free": "", "0.1 USD a call": "", "٣ USD": "", "1 \u202eUSD": "", "NaN": "", strings.Repeat("9", 41): "",
	} {
		have := ""
		if d, unit, ok := parse(text); ok {
			have = Cost{Amount: d.String(), Unit: unit}.String()
		}
		if have != want {
			t.Errorf("%q is read as %q, want %q", text, have, want)
		}
	}
}

// TestSumsAreExact: in any order, and with any places, a sum of cents is the sum of the cents.
func TestSumsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sum decimal
		cents, places := int64(0), 0
		for _, c := range rapid.SliceOfN(rapid.Int64Range(-1e9, 1e9), 1, 50).Draw(t, "cents") {
			d := &decimal{places: 2 + rapid.IntRange(0, 3).Draw(t, "zeros")}
			d.value.Set(scaled(d.value.SetInt64(c), d.places-2))
			sum.add(d)
			cents, places = cents+c, max(places, d.places)
		}
		want := &decimal{places: places}
		want.value.Set(scaled(want.value.SetInt64(cents), places-2))
		if sum.String() != want.String() {
			t.Fatalf("the sum is %s, want %s", sum.String(), want)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("0.0042 USD")
	f.Add("$ -1.")
	f.Fuzz(func(t *testing.T, text string) {
		d, unit, ok := parse(text)
		if !ok {
			return
		}
		again, same, ok := parse(Cost{Amount: d.String(), Unit: unit}.String())
		if !ok || same != unit || again.String() != d.String() {
			t.Errorf("%q is written as %s %s, which is not read back so", text, d.String(), unit)
		}
	})
}

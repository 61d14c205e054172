package ledger

import "testing"

// FuzzInsideCursor reads what a client sends as a watch's place in an entry.
func FuzzInsideCursor(f *testing.F) {
	f.Add((&insideCursor{"34", 1, "t", 7, [4]byte{1}}).String())
	f.Add("34~1.7.01000000.dA")
	f.Add("34~0.7.01000000.dA")
	f.Add("~~1.1.00000000.")
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := parseInside(s)
		if !ok {
			return
		}
		if again, ok := parseInside(c.String()); !ok || *again != *c || c.seen < 1 || c.seq < 1 {
			t.Errorf("%q is read as %+v", s, c)
		}
	})
}

package ledger

import (
	"encoding/base64"
	"errors"
	"maps"
	"math"
	"testing"

	"github.com/posthouse/posthouse"
)

func FuzzPollCursor(f *testing.F) {
	f.Add(pollPrefix)
	f.Add(pollCursor{pollKeyOf("t"): {seq: 7, hash: [4]byte{1, 2, 3, 4}}, pollKeyOf("u"): {seq: math.MaxUint64}}.text())
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parsePollCursor(s)
		if err != nil {
			if !errors.Is(err, posthouse.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if again, err := parsePollCursor(c.text()); err != nil || !maps.Equal(again, c) {
			t.Fatalf("%q is %v; written again %q: %v, %v", s, c, c.text(), again, err)
		}
	})
}

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

func (c pollCursor) text() string {
	b := []byte{}
	for k, m := range c {
		b = m.append(b, k)
	}
	return pollPrefix + base64.RawURLEncoding.EncodeToString(b)
}

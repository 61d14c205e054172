package polling

import (
	"encoding/base64"
	"errors"
	"maps"
	"math"
	"testing"

	"github.com/posthouse/posthouse"
)

func FuzzCursor(f *testing.F) {
	f.Add(prefix)
	f.Add(cursor{keyOf("t"): {seq: 7, hash: [4]byte{1, 2, 3, 4}}, keyOf("u"): {seq: math.MaxUint64}}.text())
	f.Fuzz(func(t *testing.T, s string) {
		c, err := parse(s)
		if err != nil {
			if !errors.Is(err, posthouse.ErrInvalid) {
				t.Fatal(err)
			}
			return
		}
		if again, err := parse(c.text()); err != nil || !maps.Equal(again, c) {
			t.Fatalf("%q is %v; written again %q: %v, %v", s, c, c.text(), again, err)
		}
	})
}

func (c cursor) text() string {
	b := []byte{}
	for k, m := range c {
		b = m.append(b, k)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(b)
}

package taskslot_test

import (
	"bytes"
	"testing"

	"github.com/posthouse/posthouse/internal/taskslot"
)

// FuzzRecord reads any bytes without a panic, and reads what it writes.
func FuzzRecord(f *testing.F) {
	for _, r := range []taskslot.Record{{}, {Call: "c", Gate: "g", Session: "s", Worker: "w", Saves: 7, Sealed: 2, Value: []byte{}}, {Call: "c", Value: []byte("x")}} {
		b, err := r.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r, again taskslot.Record
		if r.Decode(b) != nil {
			return
		}
		out, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Decode(out); err != nil || again.Call != r.Call || again.Gate != r.Gate || (again.Value == nil) != (r.Value == nil) || !bytes.Equal(again.Value, r.Value) {
			t.Errorf("%+v, and again %+v, %v", r, again, err)
		}
	})
}

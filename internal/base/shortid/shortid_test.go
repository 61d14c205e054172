package shortid_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/base/shortid"
)

// TestMatches compares parts with ids, and with names that are no ids.
func TestMatches(t *testing.T) {
	const id = "019a2f6e-7c1b-7d1e-8f00-3b7d1c2a667e"
	for part, want := range map[string]bool{
		"667e": true, "3b7d1c2a667e": true, "019a2f": true, "019a…667e": true, "019a...667e": true, "019a…": true, "…667e": true,
		"66": false, "": false, "…7e": false, "667f": false, "019b…667e": false, "8f00": false, id + "…667e": false,
	} {
		p, ok := shortid.Read(part)
		if have := ok && p.Matches(id); have != want {
			t.Errorf("%q names %s: %v, want %v", part, id, have, want)
		}
	}
	p, _ := shortid.Read("gate-…667e")
	if q, _ := shortid.Read("1234"); !p.Matches("gate-"+id) || q.Matches("order-1234") || !shortid.IsWhole("gate-"+id) || shortid.IsWhole("order-"+id) || !shortid.EndsInID("order-"+id) {
		t.Error("a gate's part, a name, or a whole id is taken for another")
	}
}

// FuzzRead reads any text, and compares it with ids: it must end, and match no name that is no id.
func FuzzRead(f *testing.F) {
	f.Add("01a2…667e")
	f.Add("......")
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := shortid.Read(text); ok && p.Matches("order-1234") {
			t.Errorf("%q names order-1234", text)
		}
	})
}

package redisstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/damage"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestMisplacedValues cuts each value off, swaps it with each other, and sets it back to
// what it was earlier. It is found by who reads everything, or changes nothing of what is
// read. Slots are in TestDamagedSlots.
func TestMisplacedValues(t *testing.T) {
	s, c := open(t, redisstore.Options{}), connect(t, redistest.URL(t))
	prefix := "{" + prefixOf(t.Name()) + "}:"
	threadValues := func() (some []cell) {
		all, _ := cells(t, c, prefix)
		for _, v := range all {
			if !strings.HasPrefix(v.name, prefix+"meta") && v.name != prefix+"commit" {
				some = append(some, v)
			}
		}
		return some
	}
	b := storetest.NewBuilder()
	logs := []*storetest.Log{b.Log("t0"), b.Log("t1")}
	for _, l := range logs {
		servertest.Take(t, s, l, l.Checkpoint(posthouse.Header{Run: "r"}, "state"), l.Step("s", []byte("result")))
	}
	older := threadValues()
	for _, l := range logs {
		h := l.Checkpoint(posthouse.Header{Status: posthouse.StatusWaiting, Coordination: "desk"}, "waits")
		servertest.Take(t, s, l, h, l.Gate(b.GateID(), b.Now().Add(1e9)))
	}
	before, err := storetest.Dump(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	values := threadValues()
	tally := damage.Begin(t)
	try := func(kind, what string) {
		switch after, err := storetest.Dump(t.Context(), s); {
		case err == nil && after != before:
			tally.Served(kind, "%s %s: served as if nothing had happened", kind, what)
		case err == nil:
			tally.Same(kind)
		default:
			tally.Found(kind)
		}
	}
	step := 1
	if testing.Short() {
		step = damage.Step(11)
	}
	for i, v := range values {
		for n := 0; n < len(v.value); n += step {
			v.set(v.value[:n])
			try("cut off", fmt.Sprintf("at %d: %s", n, v.name))
		}
		for j := i + 1; j < len(values); j += step {
			w := values[j]
			v.set(w.value)
			w.set(v.value)
			try("swapped", v.name+" with "+w.name)
			w.set(w.value)
		}
		for _, o := range older {
			if o.name == v.name && o.value != v.value {
				o.set(o.value)
				try("older", v.name)
			}
		}
		v.set(v.value)
	}
	if after, err := storetest.Dump(t.Context(), s); err != nil || after != before {
		t.Errorf("set back: %v", err)
	}
	for _, kind := range []string{"cut off", "swapped", "older"} {
		if tally.Of(kind).Found == 0 {
			t.Errorf("nothing that was %s was found", kind)
		}
	}
}

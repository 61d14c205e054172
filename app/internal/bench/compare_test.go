package bench

import (
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestCompare: only what was counted is judged by an earlier run.
func TestCompare(t *testing.T) {
	earlier, err := ReadFigures(strings.NewReader(`[
		{"workload":"w1","name":"steps","value":0.9},
		{"workload":"w1","name":"allocations","value":20,"counted":true},
		{"workload":"w1","name":"memory allocated","value":2000,"counted":true}]`))
	if err != nil {
		t.Fatal(err)
	}
	now := []Figure{
		{Workload: "w1", Name: "steps", Value: 0.1, OK: true},
		{Workload: "w1", Name: "allocations", Value: 21, Counted: true, OK: true},
		{Workload: "w1", Name: "memory allocated", Value: 2300, Counted: true, OK: true},
		{Workload: "memory", Name: "allocations", Value: 99, Counted: true, OK: true},
	}
	Compare(now, earlier)
	for i, want := range []struct {
		was float64
		ok  bool
	}{{0.9, true}, {20, true}, {2000, false}, {0, true}} {
		f := now[i]
		was := 0.0
		if f.Earlier != nil {
			was = *f.Earlier
		}
		if was != want.was || f.OK != want.ok {
			t.Errorf("%s, %s: earlier %v and ok %v, want %v and %v", f.Workload, f.Name, was, f.OK, want.was, want.ok)
		}
	}
	if _, err := ReadFigures(strings.NewReader("no run")); !errors.Is(err, posthouse.ErrInvalid) {
		t.Errorf("a file that is no run: got %v, want code invalid", err)
	}
}

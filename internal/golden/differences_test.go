package golden_test

import (
	"slices"
	"testing"

	"github.com/posthouse/posthouse/internal/golden"
)

// TestDifferences is the control arm of the comparison: what is added passes,
// what is changed, missing or of another length does not.
func TestDifferences(t *testing.T) {
	const want = `{"a":1,"b":{"c":["x","y"],"d":null},"e":true}`
	for _, tt := range []struct {
		name, got string
		paths     []string
	}{
		{"the same", want, nil},
		{"added fields", `{"a":1,"b":{"c":["x","y"],"d":null,"new":[1]},"e":true,"f":0}`, nil},
		{"changed", `{"a":2,"b":{"c":["x","z"],"d":null},"e":true}`, []string{"/a: is 2, was 1", "/b/c/1: is z, was y"}},
		{"missing", `{"a":1,"b":{"c":["x","y"]}}`, []string{"/b/d: is missing, was <nil>", "/e: is missing, was true"}},
		{"longer", `{"a":1,"b":{"c":["x","y","z"],"d":null},"e":true}`, []string{"/b/c: is [x y z], was [x y]"}},
		{"another kind", `{"a":"1","b":[],"e":true}`, []string{"/a: is 1, was 1", "/b: is [], was an object"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := golden.Differences(parse(t, want), parse(t, tt.got)); !slices.Equal(got, tt.paths) {
				t.Errorf("got %q, want %q", got, tt.paths)
			}
		})
	}
}

func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := golden.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

package golden_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
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
			if got := differences("", parse(t, want), parse(t, tt.got)); !slices.Equal(got, tt.paths) {
				t.Errorf("got %q, want %q", got, tt.paths)
			}
		})
	}
}

func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// decode decodes answers from JSON and keeps numbers as they are written.
func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// differences compares answers field by field and returns a line for each that
// is missing in got or differs there, by path. Fields that only got has do not
// count; lists must have the same length.
func differences(path string, want, got any) (out []string) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: is %v, was an object", path, got)}
		}
		for _, key := range slices.Sorted(maps.Keys(w)) {
			value, there := g[key]
			if !there {
				out = append(out, fmt.Sprintf("%s/%s: is missing, was %v", path, key, w[key]))
				continue
			}
			out = append(out, differences(path+"/"+key, w[key], value)...)
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return []string{fmt.Sprintf("%s: is %v, was %v", path, got, want)}
		}
		for i := range w {
			out = append(out, differences(path+"/"+strconv.Itoa(i), w[i], g[i])...)
		}
		return out
	}
	if want != got {
		return []string{fmt.Sprintf("%s: is %v, was %v", path, got, want)}
	}
	return nil
}

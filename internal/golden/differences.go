package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Parse decodes answers from JSON, numbers kept as they are written. Its errors
// are those of encoding/json.
func Parse(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// Differences compares answers field by field and returns a line for each that
// is missing in got or differs there, by path. Fields that only got has are no
// difference; lists must have the same length.
func Differences(want, got any) []string { return differences("", want, got) }

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

package diff

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// comparePaths returns what changed within two JSON values. It returns nothing for other
// codecs, and for JSON that differs only in its formatting.
func comparePaths(a, b posthouse.Value) (paths []PathChange, more int) {
	var va, vb any
	if a.Codec != posthouse.JSON.Name() || b.Codec != posthouse.JSON.Name() || decodeExact(a.Data, &va) != nil || decodeExact(b.Data, &vb) != nil {
		return nil, 0
	}
	var d pathDiffer
	d.value("", va, vb)
	return d.out, d.more
}

// JSON returns where two JSON texts differ, in order. It shows 1,000 differences and
// counts the rest in more. An empty text is null. Texts that are not JSON are compared as
// a whole.
func JSON(a, b json.RawMessage) (paths []PathChange, more int) {
	var vs [2]any
	for i, text := range []json.RawMessage{a, b} {
		if len(text) > 0 && decodeExact(text, &vs[i]) != nil {
			if bytes.Equal(a, b) {
				return nil, 0
			}
			return []PathChange{{Change: DiffChanged, A: shown(string(a)), B: shown(string(b))}}, 0
		}
	}
	var d pathDiffer
	d.value("", vs[0], vs[1])
	return d.out, d.more
}

func decodeExact(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // 1.0 and 1 differ, and 2^60 stays what it was
	return dec.Decode(v)
}

type pathDiffer struct {
	out  []PathChange
	more int
}

// absentValue stands for a value that one side lacks. It is not a JSON value.
type absentValue struct{}

func (d *pathDiffer) add(path, change string, a, b any) {
	if len(d.out) == maxPaths {
		d.more++
		return
	}
	c := PathChange{Path: path, Change: change}
	if a != (absentValue{}) {
		c.A = shown(a)
	}
	if b != (absentValue{}) {
		c.B = shown(b)
	}
	d.out = append(d.out, c)
}

// value compares two decoded values. The Ledger bounds their depth.
func (d *pathDiffer) value(path string, a, b any) {
	switch va := a.(type) {
	case map[string]any:
		if vb, ok := b.(map[string]any); ok {
			d.object(path, va, vb)
			return
		}
	case []any:
		if vb, ok := b.([]any); ok {
			d.array(path, va, vb)
			return
		}
	default:
		if a == b { // strings, numbers, booleans, null
			return
		}
	}
	d.add(path, DiffChanged, a, b)
}

func (d *pathDiffer) object(path string, a, b map[string]any) {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		va, inA := a[k]
		vb, inB := b[k]
		p := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
		switch {
		case !inA:
			d.add(p, DiffAdded, absentValue{}, vb)
		case !inB:
			d.add(p, DiffRemoved, va, absentValue{})
		default:
			d.value(p, va, vb)
		}
	}
}

// array skips equal elements at both ends and compares those in between by index. The rest
// was added or removed.
func (d *pathDiffer) array(path string, a, b []any) {
	lo := 0
	for lo < len(a) && lo < len(b) && sameValue(a[lo], b[lo]) {
		lo++
	}
	ea, eb := len(a), len(b)
	for ea > lo && eb > lo && sameValue(a[ea-1], b[eb-1]) {
		ea, eb = ea-1, eb-1
	}
	for i := lo; i < max(ea, eb); i++ {
		p := path + "/" + strconv.Itoa(i)
		switch {
		case i >= ea:
			d.add(p, DiffAdded, absentValue{}, b[i])
		case i >= eb:
			d.add(p, DiffRemoved, a[i], absentValue{})
		default:
			d.value(p, a[i], b[i])
		}
	}
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

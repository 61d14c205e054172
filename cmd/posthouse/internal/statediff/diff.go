package statediff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// What happened to a value.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// A Change is one difference.
type Change struct {
	Part   string          `json:"part"`
	Path   string          `json:"path"` // JSON pointer within the part, empty for the whole of it
	Op     string          `json:"op"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Diff returns what changed from a to b, parts in the order of their names.
func Diff(a, b posthouse.State) []Change {
	names := map[string]bool{}
	for n := range a {
		names[n] = true
	}
	for n := range b {
		names[n] = true
	}
	var out []Change
	for _, n := range slices.Sorted(maps.Keys(names)) {
		va, inA := a[n]
		vb, inB := b[n]
		switch {
		case !inA:
			out = append(out, Change{Part: n, Op: Added, After: Show(vb)})
		case !inB:
			out = append(out, Change{Part: n, Op: Removed, Before: Show(va)})
		case va.Codec == vb.Codec && bytes.Equal(va.Data, vb.Data):
		default:
			out = append(out, part(n, va, vb)...)
		}
	}
	return out
}

func part(name string, a, b posthouse.Value) []Change {
	d := differ{part: name}
	var va, vb any
	if a.Codec == "json" && b.Codec == "json" && decode(a.Data, &va) == nil && decode(b.Data, &vb) == nil {
		d.value("", va, vb)
	}
	if len(d.out) == 0 { // other codecs, or JSON that differs in its writing only
		d.add(Change{Op: Changed, Before: Show(a), After: Show(b)})
	}
	return d.out
}

func decode(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // 1.0 and 1 differ, and 2^60 stays what it was
	return dec.Decode(v)
}

// Show returns a value as JSON: itself, as a string if it is text, else its
// codec and size.
func Show(v posthouse.Value) json.RawMessage {
	if v.Codec == "json" && json.Valid(v.Data) {
		return json.RawMessage(v.Data)
	}
	if utf8.Valid(v.Data) {
		return encode(string(v.Data))
	}
	return encode(fmt.Sprintf("(%d bytes, codec %s)", len(v.Data), v.Codec))
}

func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null") // values that were decoded from JSON do encode
	}
	return bytes.TrimSpace(b.Bytes())
}

type differ struct {
	part string
	out  []Change
}

func (d *differ) add(c Change) {
	c.Part = d.part
	d.out = append(d.out, c)
}

// value compares two decoded values. Their depth is bounded by what the Ledger
// accepts.
func (d *differ) value(path string, a, b any) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			d.object(path, a, b)
			return
		}
	case []any:
		if b, ok := b.([]any); ok {
			d.array(path, a, b)
			return
		}
	default:
		if a == b { // strings, numbers, booleans, null
			return
		}
	}
	d.add(Change{Path: path, Op: Changed, Before: encode(a), After: encode(b)})
}

func (d *differ) object(path string, a, b map[string]any) {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		va, inA := a[k]
		vb, inB := b[k]
		p := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
		switch {
		case !inA:
			d.add(Change{Path: p, Op: Added, After: encode(vb)})
		case !inB:
			d.add(Change{Path: p, Op: Removed, Before: encode(va)})
		default:
			d.value(p, va, vb)
		}
	}
}

// array leaves out the equal elements at both ends, pairs what is in between
// by place, and reports the rest as added or removed.
func (d *differ) array(path string, a, b []any) {
	lo := 0
	for lo < len(a) && lo < len(b) && equal(a[lo], b[lo]) {
		lo++
	}
	ea, eb := len(a), len(b)
	for ea > lo && eb > lo && equal(a[ea-1], b[eb-1]) {
		ea, eb = ea-1, eb-1
	}
	for i := lo; i < max(ea, eb); i++ {
		p := path + "/" + strconv.Itoa(i)
		switch {
		case i >= ea:
			d.add(Change{Path: p, Op: Added, After: encode(b[i])})
		case i >= eb:
			d.add(Change{Path: p, Op: Removed, Before: encode(a[i])})
		default:
			d.value(p, a[i], b[i])
		}
	}
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

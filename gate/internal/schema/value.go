package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decode reads JSON with its numbers as they are written.
func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

// canonical returns a text that is the same for equal values: 1 and 1.0 are equal.
func canonical(v any) string {
	var b strings.Builder
	appendCanonical(&b, v)
	return b.String()
}

func appendCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("n")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case json.Number:
		key := string(v)
		if n, ok := parseNumber(key); ok {
			key = n.key()
		}
		b.WriteString("#" + key)
	case string:
		b.WriteString(strconv.Itoa(len(v)) + ":" + v)
	case []any:
		b.WriteString("[")
		for _, e := range v {
			appendCanonical(b, e)
			b.WriteString(",")
		}
		b.WriteString("]")
	case map[string]any:
		b.WriteString("{")
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.WriteString(strconv.Itoa(len(name)) + ":" + name)
			appendCanonical(b, v[name])
			b.WriteString(",")
		}
		b.WriteString("}")
	}
}

// weight is about what it costs to write a value in its canonical form, in steps.
func weight(v any) int {
	n := 1
	switch v := v.(type) {
	case json.Number:
		n += len(v) / 16
	case string:
		n += len(v) / 16
	case []any:
		for _, e := range v {
			n += weight(e)
		}
	case map[string]any:
		for name, e := range v {
			n += 1 + len(name)/16 + weight(e)
		}
	}
	return n
}

// typeOf names the type of a value as schemas do.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		if n, ok := parseNumber(string(v)); ok && n.isInteger() {
			return "integer"
		}
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// maxShown bounds what is shown of a value, in bytes.
const maxShown = 80

// show returns a value for a message, in JSON, or its beginning.
func show(v any) string {
	var b strings.Builder
	appendShown(&b, v)
	s := b.String()
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "..."
	}
	return s
}

func appendShown(b *strings.Builder, v any) {
	if b.Len() > maxShown {
		return
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case json.Number:
		b.WriteString(string(v[:min(len(v), maxShown+1)]))
	case string:
		if len(v) > maxShown {
			v = v[:maxShown]
			for !utf8.ValidString(v) {
				v = v[:len(v)-1]
			}
		}
		b.WriteString(strconv.Quote(v))
	case []any:
		b.WriteString("[")
		for i, e := range v {
			if i > 0 {
				b.WriteString(",")
			}
			if b.Len() > maxShown {
				return
			}
			appendShown(b, e)
		}
		b.WriteString("]")
	case map[string]any:
		b.WriteString("{")
		names := slices.Collect(maps.Keys(v))
		if len(names) <= 100 {
			slices.Sort(names)
		}
		for i, name := range names {
			if i > 0 {
				b.WriteString(",")
			}
			if b.Len() > maxShown {
				return
			}
			b.WriteString(strconv.Quote(name[:min(len(name), maxShown)]) + ":")
			appendShown(b, v[name])
		}
		b.WriteString("}")
	}
}

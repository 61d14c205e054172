package strictjson

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Twice returns a name that an object in valid JSON has twice, in whatever
// spelling, and whether there is one.
func Twice(data []byte) (name string, twice bool) {
	var w walk
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{':
			w.open = append(w.open, object{first: len(w.names)})
			w.key = true
		case '[':
			w.open = append(w.open, object{array: true})
			w.key = false
		case '}', ']':
			w.end()
		case ',':
			w.key = len(w.open) > 0 && !w.open[len(w.open)-1].array
		case '"':
			end := End(data, i+1)
			if w.key && !w.add(data[i:min(end+1, len(data))]) {
				return w.name(), true
			}
			i = end
		}
	}
	return "", false
}

// A walk is the place of Twice in a value.
type walk struct {
	open  []object
	names [][]byte // of the open objects so far, the innermost last
	key   bool     // the next string is a name
}

// An object, or an array, that has not ended.
type object struct {
	array bool
	first int             // of its names
	seen  map[string]bool // those, once they are many
}

// many is how many names are looked through one by one.
const many = 16

func (w *walk) end() {
	w.key = false
	if n := len(w.open); n > 0 {
		if o := w.open[n-1]; !o.array {
			w.names = w.names[:o.first]
		}
		w.open = w.open[:n-1]
	}
}

// add takes the next name, in its quotes, and reports whether it is the first of
// its kind.
func (w *walk) add(quoted []byte) bool {
	w.key = false
	name := quoted[1:max(len(quoted)-1, 1)]
	if bytes.IndexByte(name, '\\') >= 0 {
		var s string
		if json.Unmarshal(quoted, &s) == nil {
			name = []byte(s)
		}
	}
	o := &w.open[len(w.open)-1]
	have := w.names[o.first:]
	w.names = append(w.names, name)
	if len(have) < many {
		for _, n := range have {
			if bytes.Equal(n, name) {
				return false
			}
		}
		return true
	}
	if o.seen == nil {
		o.seen = make(map[string]bool, 2*many)
		for _, n := range have {
			o.seen[string(n)] = true
		}
	}
	if o.seen[string(name)] {
		return false
	}
	o.seen[string(name)] = true
	return true
}

// name returns the name that was added last.
func (w *walk) name() string { return string(w.names[len(w.names)-1]) }

// Deeper reports whether a value nests deeper than so many levels. It need not be
// valid.
func Deeper(data []byte, levels int) bool {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = End(data, i+1)
		case '{', '[':
			if depth++; depth > levels {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// End returns where the quote is that ends the string which begins at i, or the
// length of data.
func End(data []byte, i int) int {
	for start := i; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data)
		}
		i += n
		slashes := 0
		for i-slashes > start && data[i-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
}

// Surrogate returns where valid JSON has an escape like \ud800 that encoding/json
// would replace in silence, -1 if nowhere.
func Surrogate(data []byte) int {
	for i := 0; i+1 < len(data); i++ {
		n := bytes.IndexByte(data[i:len(data)-1], '\\')
		if n < 0 {
			return -1
		}
		if i += n; data[i+1] != 'u' {
			i++
			continue
		}
		switch r := hex4(data[i+2:]); {
		case r >= 0xdc00 && r < 0xe000:
			return i
		case r >= 0xd800 && r < 0xdc00:
			next := data[i+6:]
			if len(next) < 6 || next[0] != '\\' || next[1] != 'u' || hex4(next[2:])&0xfc00 != 0xdc00 {
				return i
			}
			i += 6
		}
		i += 5
	}
	return -1
}

// hex4 reads the four digits of an escape in valid JSON.
func hex4(b []byte) uint64 {
	if len(b) < 4 {
		return 0
	}
	r, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return 0
	}
	return r
}

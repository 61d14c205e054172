package strictjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/base/strictjson"
)

func TestTwice(t *testing.T) {
	var long []string
	for i := range 40 {
		long = append(long, fmt.Sprintf(`"k%d":{"k%d":0}`, i, i))
	}
	for data, want := range map[string]string{
		`{"a":1,"a":2}`: "a", `{"a":1,"b":{"a":1}}`: "", `[{"a":1},{"a":2}]`: "", `{"x":[{"a":{"b":1,"b":2}}]}`: "b",
		`{"a":"a","b":"a"}`: "", `{"a":1,"\u0061":2}`: "a", `{"a\"":1,"a":2}`: "", `{"a\"":1,"a\u0022":2}`: `a"`, `{"":1,"":2}`: "(empty)",
		`"a"`: "", `["a","a"]`: "", `{ "a" : [ 1 , 2 ] , "a" : 2 }`: "a", `{"a":{"b":1},"b":2,"a":3}`: "a", `{"a":[{}],"b":[],"a":1}`: "a",
		"{" + strings.Join(long, ",") + "}": "", "{" + strings.Join(long, ",") + `,"k3":1}`: "k3", "{" + strings.Join(long, ",") + `,"k39":1}`: "k39",
	} {
		name, twice := strictjson.Twice([]byte(data))
		if twice && name == "" {
			name = "(empty)"
		}
		if name != want || twice != (want != "") {
			t.Errorf("%.60s: %q, %v, want %q", data, name, twice, want)
		}
	}
}

func TestSurrogate(t *testing.T) {
	for data, want := range map[string]int{
		`"\ud800"`: 1, `"x\udc00"`: 2, `"\ud83d\ude00"`: -1, `"\ud83dx"`: 1, `"\ud83d\ud83d"`: 1, `"\\ud800"`: -1, `"\\\ud800"`: 3,
		`"\u00e9"`: -1, `{"\ud800":1}`: 2, `""`: -1, `1`: -1, ``: -1, `"\ud83d\ude00\ude00"`: 13,
	} {
		if at := strictjson.Surrogate([]byte(data)); at != want {
			t.Errorf("%s: %d, want %d", data, at, want)
		}
	}
}

// FuzzTwice compares with a decoder: an object that has nothing twice keeps all
// its members.
func FuzzTwice(f *testing.F) {
	for _, s := range []string{`{"a":1,"a":2}`, `{"a":{"b":1,"c":[{"d":1,"d":2}]}}`, `{"\u0061":1,"a":2}`, `[1,"x"]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		strictjson.Surrogate(data)
		_, twice := strictjson.Twice(data)
		if !json.Valid(data) || strings.Contains(string(data), "�") {
			return
		}
		if got := members(json.NewDecoder(strings.NewReader(string(data)))); got != twice && strictjson.Surrogate(data) < 0 {
			t.Errorf("%q: %v, want %v", data, twice, got)
		}
	})
}

// members reports whether an object has a name twice.
func members(d *json.Decoder) (twice bool) {
	tok, err := d.Token()
	if err != nil {
		return false
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return false
	}
	seen := map[any]bool{}
	for d.More() {
		if delim == '{' {
			key, err := d.Token()
			if err != nil {
				return twice
			}
			twice = twice || seen[key]
			seen[key] = true
		}
		twice = members(d) || twice
	}
	_, _ = d.Token()
	return twice
}

package statediff

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
)

func state(parts ...string) posthouse.State {
	s := posthouse.State{}
	for i := 0; i < len(parts); i += 2 {
		s[parts[i]] = posthouse.Value{Codec: "json", Data: []byte(parts[i+1])}
	}
	return s
}

func TestDiff(t *testing.T) {
	raw := posthouse.State{"bin": {Codec: "raw", Data: []byte{0xff}}, "text": {Codec: "raw", Data: []byte("hi")}}
	for _, c := range []struct {
		name string
		a, b posthouse.State
		want string
	}{
		{"equal", state("x", "1"), state("x", "1"), `null`},
		{"parts", state("gone", "1"), state("new", `"v"`),
			`[{"part":"gone","path":"","op":"removed","before":1},{"part":"new","path":"","op":"added","after":"v"}]`},
		{"scalar", state("ok", "false"), state("ok", "true"), `[{"part":"ok","path":"","op":"changed","before":false,"after":true}]`},
		{"append", state("m", `[{"a":1}]`), state("m", `[{"a":1},{"a":2}]`), `[{"part":"m","path":"/1","op":"added","after":{"a":2}}]`},
		{"prepend", state("m", `["b"]`), state("m", `["a","b"]`), `[{"part":"m","path":"/0","op":"added","after":"a"}]`},
		{"nested", state("m", `{"a/b":{"c":[1,2]},"d":1}`), state("m", `{"a/b":{"c":[1,3]},"e":1}`),
			`[{"part":"m","path":"/a~1b/c/1","op":"changed","before":2,"after":3},{"part":"m","path":"/d","op":"removed","before":1},{"part":"m","path":"/e","op":"added","after":1}]`},
		{"type", state("m", `{}`), state("m", `[]`), `[{"part":"m","path":"","op":"changed","before":{},"after":[]}]`},
		{"writing", state("m", `{"a": 1}`), state("m", `{"a":1}`), `[{"part":"m","path":"","op":"changed","before":{"a":1},"after":{"a":1}}]`},
		{"big", state("n", `1152921504606846976`), state("n", `1152921504606846977`),
			`[{"part":"n","path":"","op":"changed","before":1152921504606846976,"after":1152921504606846977}]`},
		{"raw", nil, raw, `[{"part":"bin","path":"","op":"added","after":"(1 bytes, codec raw)"},{"part":"text","path":"","op":"added","after":"hi"}]`},
	} {
		got, err := json.Marshal(Diff(c.a, c.b))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, want %s (%v)", c.name, got, c.want, err)
		}
	}
}

// TestNoChangeIsMissed: there is a change exactly when the bytes differ.
func TestNoChangeIsMissed(t *testing.T) {
	value := rapid.Custom(func(t *rapid.T) posthouse.Value {
		v := rapid.SampledFrom([]string{`1`, `[1,2]`, `[2,1]`, `{"a":[]}`, `{"a":null}`, `{"a": null}`, `"x"`, `[[1],[1,2]]`}).Draw(t, "v")
		return posthouse.Value{Codec: rapid.SampledFrom([]string{"json", "raw"}).Draw(t, "codec"), Data: []byte(v)}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := posthouse.State{"p": value.Draw(t, "a")}, posthouse.State{"p": value.Draw(t, "b")}
		same := a["p"].Codec == b["p"].Codec && string(a["p"].Data) == string(b["p"].Data)
		if got := Diff(a, b); (len(got) == 0) != same {
			t.Fatalf("%s and %s: %v", a["p"].Data, b["p"].Data, got)
		}
	})
}

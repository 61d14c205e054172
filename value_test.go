package posthouse

import (
	"errors"
	"strings"
	"testing"
)

func TestJSONRefusesWhatItWouldChange(t *testing.T) {
	if _, err := JSON.Marshal(map[string]string{"k": "\xff"}); !errors.Is(err, ErrInvalid) {
		t.Errorf("invalid UTF-8: %v", err)
	}
	for _, fine := range []string{"\ufffd", `\ufffd`, `\\ufffd`, "plain", "a\u2028b"} {
		data, err := JSON.Marshal(fine)
		if err != nil {
			t.Errorf("%q: %v", fine, err)
			continue
		}
		var back string
		if err := JSON.Unmarshal(data, &back); err != nil || back != fine {
			t.Errorf("%q came back as %q, %v", fine, back, err)
		}
	}
	var deep any
	for range MaxDepth + 1 {
		deep = []any{deep}
	}
	if _, err := JSON.Marshal(deep); !errors.Is(err, ErrInvalid) {
		t.Errorf("deep nesting: %v", err)
	}
	if err := checkDepth("x", []byte(`"`+strings.Repeat(`[`, 1000)+`\"[["`)); err != nil {
		t.Errorf("brackets in a string count as nesting: %v", err)
	}
}

// TestDecodingIsData checks CVE-2026-28277's kind: what looks like an envelope
// of ours, or names a type, comes back as the data it is.
func TestDecodingIsData(t *testing.T) {
	in := map[string]any{"codec": "json", "data": "e30=", "lc": 1.0, "type": "constructor", "id": []any{"os", "exec"}}
	v, err := Encode(nil, in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Decode[map[string]any](v)
	if err != nil || len(out) != len(in) || out["type"] != "constructor" {
		t.Errorf("came back as %v, %v", out, err)
	}
	if _, err := Decode[any](Value{Codec: "pickle", Data: v.Data}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an unknown codec: %v", err)
	}
}

func TestRawCodec(t *testing.T) {
	v, err := Encode(Raw, "text")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode[string](v)
	b, err2 := Decode[[]byte](v)
	if err != nil || err2 != nil || s != "text" || string(b) != "text" {
		t.Errorf("%q %q %v %v", s, b, err, err2)
	}
	if _, err := Raw.Marshal(3); !errors.Is(err, ErrInvalid) {
		t.Errorf("a number: %v", err)
	}
	if _, err := Decode[int](v); !errors.Is(err, ErrInvalid) {
		t.Errorf("into a number: %v", err)
	}
}

package posthouse

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
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

// TestPlainValuesAreEncodedAsByEncodingJSON holds the short way of encoding text
// and numbers against the long one.
func TestPlainValuesAreEncodedAsByEncodingJSON(t *testing.T) {
	same := func(v any) {
		t.Helper()
		want, err := json.Marshal(v)
		got, err2 := JSON.Marshal(v)
		if err != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("%T: %s, want %s; %v, %v", v, got, want, err, err2)
		}
	}
	for r := range rune(0x3000) {
		if utf8.ValidRune(r) {
			s := "before " + string(r) + " after"
			same(&s)
		}
	}
	for _, n := range []int{0, -1, 1234567890, math.MinInt, math.MaxInt} {
		same(&n)
	}
	same((*string)(nil))
	same((*int)(nil))
}

func TestCheckDepth(t *testing.T) {
	open, shut := strings.Repeat("[", MaxDepth), strings.Repeat("]", MaxDepth)
	for data, ok := range map[string]bool{
		open + shut: true, open + "[]" + shut: false, open + `"["` + shut: true, open + `"\""` + shut: true,
		open + `"\\"[]` + shut: false, open + `"\\\"["` + shut: true, open + `"[`: true, open + `""[]`: false,
	} {
		if err := checkDepth("x", []byte(data)); (err == nil) != ok {
			t.Errorf("%s: %v", data, err)
		}
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
	var e *Error
	if _, err := Decode[any](State{"a": v}["b"]); !errors.As(err, &e) || e.Code != CodeInvalid || e.Field != "part" || e.Hint == "" || strings.Contains(e.Message, "codec") {
		t.Errorf("a part that is not there: %v", err)
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

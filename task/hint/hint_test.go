package hint_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task/hint"
)

// TestHintsComeBack: the longest names and those that JSON escapes fit, and are read again.
func TestHintsComeBack(t *testing.T) {
	long := strings.Repeat("<", posthouse.MaxID)
	for _, h := range []hint.Hint{
		{Gate: "gate-1", Thread: "t", Task: "x"},
		{Gate: "gate-1", Thread: "日本/\"\\", Task: "x y.z", Group: "*.>", NotBefore: time.Unix(7, 0).UTC()},
		{Gate: posthouse.ID(strings.Repeat("g", posthouse.MaxID)), Thread: long, Task: long, Group: strings.Repeat("\\", posthouse.MaxID), NotBefore: time.Unix(7, 1).UTC()},
	} {
		b := h.Encode()
		got, err := hint.Parse(b)
		if err != nil || got != h || len(b) > hint.MaxSize {
			t.Errorf("%s: got %+v, error %v", b, got, err)
		}
	}
}

func TestMalformedHints(t *testing.T) {
	for _, b := range []string{
		"", "{", "[]", "{}", `{"gate":"g"}`, `{"gate":"g","thread":"t"}`, `{"gate":"g g","thread":"t","task":"x"}`, `{"gate":"g","thread":"t","task":"x","group":"\u0000"}`,
		`{"gate":"g","thread":"t","task":"x","state":{}}`, `{"gate":"g","gate":"h","thread":"t","task":"x"}`, `{"gate":"g","thread":"t","task":"x"} more`,
	} {
		if _, err := hint.Parse([]byte(b)); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v", b, err)
		}
	}
	big := `{"gate":"g","thread":"t","task":"` + strings.Repeat("x", hint.MaxSize) + `"}`
	if _, err := hint.Parse([]byte(big)); !errors.Is(err, posthouse.ErrTooLarge) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"gate":"g","thread":"t","task":"x","group":"y","notBefore":"2026-11-24T11:00:00Z"}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := hint.Parse(b)
		if err != nil {
			return
		}
		again, err := hint.Parse(h.Encode())
		if err != nil || !again.NotBefore.Equal(h.NotBefore) {
			t.Fatalf("%+v, %+v, %v", h, again, err)
		}
		again.NotBefore = h.NotBefore
		if again != h {
			t.Fatalf("%+v, %+v", h, again)
		}
	})
}

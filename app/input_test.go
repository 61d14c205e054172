package app

import (
	"errors"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestInputsAreStrict: a misspelt field or a wrong type is refused, with the field, what
// there is, and the input's form; text of Go's does not leave.
func TestInputsAreStrict(t *testing.T) {
	type pay struct {
		To     string `json:"to"`
		Amount int64  `json:"amount"`
	}
	for in, field := range map[string]string{`{"too":"x"}`: "too", `{"to":"x","amount":"1"}`: "amount", `{"to":"x","amount":1.5}`: "amount", `[]`: "message", `pay bob`: "message"} {
		_, err := decoded[pay](in, nil)
		var e *posthouse.Error
		if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != field || !strings.Contains(e.Hint, `{"to": text, "amount": whole number}`) {
			t.Errorf("%s: %+v", in, err)
			continue
		}
		for _, bad := range []string{"Go ", "int64", "struct", "json:"} {
			if strings.Contains(err.Error(), bad) {
				t.Errorf("%s: the error has %q: %v", in, bad, err)
			}
		}
	}
	if in, err := decoded[pay](`{"to":"x","amount":7}`, nil); err != nil || in.To != "x" || in.Amount != 7 {
		t.Errorf("good input: %+v, %v", in, err)
	}
}

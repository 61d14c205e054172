package task_test

import (
	"encoding/json"
	"errors"
	"net"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
)

func TestEncodeOutput(t *testing.T) {
	type blob []byte
	for _, c := range []struct {
		give any
		want string // "" is refused
	}{
		{[]byte(`{"a":1}`), `{"a":1}`}, {[]byte(`12`), `12`}, {[]byte(" [1]\n"), " [1]\n"},
		{[]byte("x"), `"x"`}, {[]byte(`say "hi"`), `"say \"hi\""`}, {[]byte("{"), `"{"`}, {[]byte{}, `""`}, {[]byte(nil), `null`},
		{[]byte{0xff, 0xfe}, ""}, {blob("x"), `"x"`}, {blob(`[1]`), `[1]`}, {blob{0x80}, ""},
		{json.RawMessage(`{"a":1}`), `{"a":1}`}, {json.RawMessage("{"), ""}, {net.IPv4(1, 2, 3, 4), `"1.2.3.4"`},
		{"12", `"12"`}, {nil, `null`}, {[]string{"x"}, `["x"]`}, {[][]byte{[]byte("x")}, `["eA=="]`}, {func() {}, ""},
	} {
		b, err := task.EncodeOutput(c.give)
		if c.want == "" {
			var e *posthouse.Error
			if !errors.As(err, &e) || e.Code != posthouse.CodeInvalid || e.Field != "output" {
				t.Errorf("%#v: %s, %v", c.give, b, err)
			}
		} else if err != nil || string(b) != c.want {
			t.Errorf("%#v is %s, %v; want %s", c.give, b, err, c.want)
		}
	}
}

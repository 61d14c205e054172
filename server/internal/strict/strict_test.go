package strict

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

type strictTarget struct {
	Message string          `json:"message"`
	N       int             `json:"n,omitempty"`
	Any     json.RawMessage `json:"any,omitempty"`
	List    []strictItem    `json:"list,omitempty"`
	Shown   posthouse.Hash  `json:"shown,omitempty"`
	At      time.Time       `json:"at,omitzero"`
	Until   time.Time       `json:"until,omitzero"`
}

type strictItem struct {
	Role string `json:"role"`
}

func TestStrictAccepts(t *testing.T) {
	for _, in := range []string{
		`{}`, ` {"message":"x"} `, `{"message":"\ud83d\ude00 \\ud800 \u00e9"}`, `{"any":null}`,
		`{"any":{"a":{"a":1},"b":[{"a":1},{"a":2}],"c":[[],{}]}}`, `{"list":[{"role":"x"},{}]}`,
		`{"any":{"":1,"a":""}}`, `{"message":"\"{[\\"}`,
	} {
		var v strictTarget
		if err := Decode([]byte(in), &v); err != nil {
			t.Errorf("%s is refused: %v", in, err)
		}
	}
}

func TestStrictRefuses(t *testing.T) {
	deep := strings.Repeat("[", posthouse.MaxDepth) + strings.Repeat("]", posthouse.MaxDepth)
	for _, c := range []struct{ in, field, says string }{
		{``, "body", "JSON"},
		{`{"message":"x"} {}`, "body", "JSON"},
		{`{"message":"x"},`, "body", "JSON"},
		{`{"message":}`, "body", "JSON"},
		{"{\"message\":\"\xff\"}", "body", "UTF-8"},
		{`{"message":"\ud800"}`, "body", "surrogate"},
		{`{"message":"\ud800\u0041"}`, "body", "surrogate"},
		{`{"message":"\udc00\ud800"}`, "body", "surrogate"},
		{`{"any":{"\udfff":1}}`, "body", "surrogate"},
		{`{"any":` + deep + `}`, "body", "deeper"},
		{strings.Repeat(deep[:posthouse.MaxDepth], 100) + strings.Repeat("]", 100*posthouse.MaxDepth), "body", "deeper"},
		{`{"message":"x","message":"y"}`, "message", "twice"},
		{`{"any":[{"a":1,"\u0061":2}]}`, "a", "twice"},
		{`{"messag":"x"}`, "messag", "not a field"},
		{`{"Message":"x"}`, "Message", "not a field"},
		{`{"message":"x","MESSAGE":"y"}`, "MESSAGE", "not a field"},
		{`{"list":[{"Role":"x"}]}`, "Role", "not a field"},
		{`{"message":1}`, "message", "must be a string"},
		{`{"n":"1"}`, "n", "must be a number"},
		{`{"n":1e99}`, "n", "must be a number"},
		{`{"list":{}}`, "list", "must be a list"},
		{`{"shown":"xyz"}`, "shown", "64"},
		{`{"at":"tomorrow"}`, "at", "must be a time"},
		{`{"until":"noon","at":"noon"}`, "at", "must be a time"},
		{`null`, "body", "object"},
		{`[]`, "body", "object"},
		{`"x"`, "body", "object"},
	} {
		var v strictTarget
		var e *posthouse.Error
		if err := Decode([]byte(c.in), &v); !errors.As(err, &e) || e.Code != posthouse.CodeInvalid {
			t.Errorf("%.60s: the error is %v", c.in, err)
			continue
		}
		if e.Field != c.field || !strings.Contains(e.Message, c.says) {
			t.Errorf("%.60s: %q %q, want %q %q", c.in, e.Field, e.Message, c.field, c.says)
		}
	}
}

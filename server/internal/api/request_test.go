package api

import (
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/problem"
)

func TestParseQuery(t *testing.T) {
	params := []Param{
		{Name: "text", Kind: TextParam}, {Name: "id", Kind: IDParam}, {Name: "n", Kind: IntParam, Max: 10}, {Name: "any", Kind: IntParam},
		{Name: "yes", Kind: BoolParam}, {Name: "at", Kind: TimeParam}, {Name: "one", Kind: EnumParam, Values: []string{"a", "b"}},
		{Name: "body", Kind: BodyParam},
	}
	for _, good := range []string{
		"", "text=a+b%20c", "id=run:7", "n=1", "n=10", "any=0", "yes=true", "at=2026-01-31T12:00:00Z", "at=1700000000000",
		"at=2026-01-31T12:00:00.5%2B02:00", "one=b", "body=a%0Ab", "n=",
	} {
		if _, err := ParseQuery(good, params); err != nil {
			t.Errorf("%q is refused: %v", good, err)
		}
	}
	for bad, field := range map[string]string{
		"nope=1": "nope", "n=1&n=2": "n", "n=0": "n", "n=11": "n", "n=-1": "n", "n=x": "n", "n=1e3": "n", "any=99999999999999999999": "any",
		"text=%00": "text", "text=%0a": "text", "text=%ff": "text", "id=a/b": "id", "id=%C3%A4": "id", "yes=1": "yes", "at=yesterday": "at", "at=-5": "at",
		"one=c": "one", "%zz=1": "query", "a;b": "query", "text=" + strings.Repeat("a", 1001): "text", "%ff=1": "query",
	} {
		_, err := ParseQuery(bad, params)
		if err == nil {
			t.Errorf("%q is accepted", bad)
			continue
		}
		if e := problem.Client(err); e.Code != posthouse.CodeInvalid || e.Field != field {
			t.Errorf("%q: %v blames %q, want %q", bad, err, e.Field, field)
		}
	}
	if _, err := ParseQuery(strings.Repeat("a", 1<<16+1), params); problem.Client(err).Code != posthouse.CodeTooLarge {
		t.Errorf("a long query: %v", err)
	}
}

package notify

import (
	"encoding/json"
	"math/big"
	"path"
	"strings"
	"testing"
)

func TestConditions(t *testing.T) {
	const payload = `{"amount":250.50,"big":9007199254740993,"name":"Ann","on":true,"none":null,"a/b":{"~":[10,20]},"huge":1e400000000,"list":[]}`
	for _, c := range []struct {
		Condition
		want bool
	}{
		{Condition{At: "/amount", Above: "250.49"}, true},
		{Condition{At: "/amount", Above: "250.5"}, false},
		{Condition{At: "/amount", Below: "2505e-1"}, false},
		{Condition{At: "/amount", Is: []string{"250.5"}}, true},
		{Condition{At: "/big", Is: []string{"9007199254740992"}}, false},
		{Condition{At: "/big", Is: []string{"9007199254740993"}}, true},
		{Condition{At: "/big", Above: "9007199254740992"}, true},
		{Condition{At: "/huge", Above: "1e399999999"}, true},
		{Condition{At: "/huge", Below: "1e399999999"}, false},
		{Condition{At: "/name", Is: []string{"Bob", "Ann"}}, true},
		{Condition{At: "/name", Above: "1"}, false},
		{Condition{At: "/name", Prefix: "An"}, true},
		{Condition{At: "/amount", Prefix: "2"}, false},
		{Condition{At: "/on", Is: []string{"true"}}, true},
		{Condition{At: "/none", Is: []string{"null"}}, true},
		{Condition{At: "/missing", Is: []string{"null"}}, false},
		{Condition{At: "/a~1b/~0/1", Is: []string{"20"}}, true},
		{Condition{At: "/a~1b/~0/01", Is: []string{"20"}}, false},
		{Condition{At: "/a~1b/~0/2", Is: []string{"20"}}, false},
		{Condition{At: "/list/-1", Is: []string{"20"}}, false},
		{Condition{At: "/amount/0", Is: []string{"2"}}, false},
	} {
		if got := c.holds(json.RawMessage(payload)); got != c.want {
			t.Errorf("%+v: %v", c.Condition, got)
		}
	}
	if (&Condition{At: "", Is: []string{"5"}}).holds(nil) {
		t.Error("a gate without a payload meets a condition")
	}
}

func TestMessageIDsFollowFromWhatTheyAreAbout(t *testing.T) {
	a, b := messageID("gate.opened", "g", "1"), messageID("gate.opened", "g1", "")
	if a == b || a != messageID("gate.opened", "g", "1") || !strings.HasPrefix(a, "msg_") || strings.Contains(a, ".") {
		t.Errorf("%s and %s", a, b)
	}
}

// Numbers compare as those of package big do.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0", "-0.0", "1e5", "100000", "12.50", "0.001", "1e-3", "-7", "9007199254740993", "01", "1.", "e5", "+1"} {
		f.Add(s, "1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, okX := parseDecimal(a)
		if okX != (json.Valid([]byte(a)) && a == strings.TrimSpace(a) && a != "" && (a[0] == '-' || a[0] >= '0' && a[0] <= '9')) {
			t.Fatalf("%q is a number: %v", a, okX)
		}
		y, okY := parseDecimal(b)
		if !okX || !okY || x.exp > 1000 || x.exp < -1000 || y.exp > 1000 || y.exp < -1000 || len(a) > 1000 || len(b) > 1000 {
			return
		}
		rx, _ := new(big.Rat).SetString(a)
		ry, _ := new(big.Rat).SetString(b)
		if x.compare(&y) != rx.Cmp(ry) {
			t.Fatalf("%s compares with %s as %d", a, b, x.compare(&y))
		}
	})
}

func FuzzPattern(f *testing.F) {
	f.Add("ref*d", "refund")
	f.Add("**a*", "banana")
	f.Fuzz(func(t *testing.T, pattern, s string) {
		if strings.ContainsAny(pattern+s, `/\?[`) || len(pattern) > 50 || len(s) > 50 {
			return
		}
		if want, err := path.Match(pattern, s); err == nil && matches(pattern, s) != want {
			t.Fatalf("%q matches %q: %v", pattern, s, !want)
		}
	})
}

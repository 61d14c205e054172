package jsonpatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const limit = 1 << 20

// TestApply has the operations of RFC 6902 with the examples of its appendix, and numbers that floats
// cannot hold.
func TestApply(t *testing.T) {
	for _, c := range []struct{ doc, patch, want string }{
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux"}]`, `{"foo":"bar","baz":"qux"}`},
		{`{"foo":["bar","baz"]}`, `[{"op":"add","path":"/foo/1","value":"qux"}]`, `{"foo":["bar","qux","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"remove","path":"/baz"}]`, `{"foo":"bar"}`},
		{`{"foo":["bar","qux","baz"]}`, `[{"op":"remove","path":"/foo/1"}]`, `{"foo":["bar","baz"]}`},
		{`{"baz":"qux","foo":"bar"}`, `[{"op":"replace","path":"/baz","value":"boo"}]`, `{"baz":"boo","foo":"bar"}`},
		{`{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}`, `[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]`, `{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}`},
		{`{"foo":["all","grass","cows","eat"]}`, `[{"op":"move","from":"/foo/1","path":"/foo/3"}]`, `{"foo":["all","cows","eat","grass"]}`},
		{`{"baz":"qux","foo":["a",2,"c"]}`, `[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]`, `{"baz":"qux","foo":["a",2,"c"]}`},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/child","value":{"grandchild":{}}}]`, `{"foo":"bar","child":{"grandchild":{}}}`},
		{`{"foo":"bar"}`, `[{"op":"add","path":"/baz","value":"qux","xyz":123}]`, `{"foo":"bar","baz":"qux"}`},
		{`{"/":9,"~1":10}`, `[{"op":"test","path":"/~01","value":10}]`, `{"/":9,"~1":10}`},
		{`{"foo":["bar"]}`, `[{"op":"add","path":"/foo/-","value":["abc","def"]}]`, `{"foo":["bar",["abc","def"]]}`},
		{`{"a": 9007199254740993 , "b":1.0e400}`, `[{"op":"copy","from":"/a","path":"/c"},{"op":"test","path":"/b","value":10E399}]`, `{"a":9007199254740993,"b":1.0e400,"c":9007199254740993}`},
		{`{"a":1}`, `[{"op":"replace","path":"","value":[2]}]`, `[2]`},
		{`{"":1}`, `[{"op":"remove","path":"/"}]`, `{}`},
		{`{"a":null}`, `[{"op":"test","path":"/a","value":null}]`, `{"a":null}`},
		{`{"a":{"x":1,"y":[true]}}`, `[{"op":"test","path":"/a","value":{"y":[true],"x":1.0}}]`, `{"a":{"x":1,"y":[true]}}`},
		{`{"a":"\u00e9"}`, `[{"op":"test","path":"/a","value":"é"}]`, `{"a":"\u00e9"}`},
	} {
		got, err := Apply([]byte(c.doc), []byte(c.patch), limit)
		var x, y any
		if err != nil || json.Unmarshal(got, &x) == nil && json.Unmarshal([]byte(c.want), &y) == nil && fmt.Sprint(x) != fmt.Sprint(y) || strings.ReplaceAll(string(got), " ", "") != c.want {
			t.Errorf("%s by %s is %s, %v; want %s", c.doc, c.patch, got, err, c.want)
		}
	}
}

// TestApplyRefuses names the operation and the path at fault.
func TestApplyRefuses(t *testing.T) {
	for _, c := range []struct {
		doc, patch string
		reason     Reason
		index      int
		path       string
	}{
		{`{"a":1}`, `[{"op":"test","path":"/a","value":1},{"op":"test","path":"/a","value":2}]`, Differs, 1, "/a"},
		{`{"a":9007199254740993}`, `[{"op":"test","path":"/a","value":9007199254740992}]`, Differs, 0, "/a"},
		{`{"a":1}`, `[{"op":"test","path":"/a","value":"1"}]`, Differs, 0, "/a"},
		{`{"a":1}`, `[{"op":"remove","path":"/b"}]`, Missing, 0, "/b"},
		{`{"a":1}`, `[{"op":"replace","path":"/b","value":1}]`, Missing, 0, "/b"},
		{`{"a":1}`, `[{"op":"add","path":"/a/b/c","value":1}]`, Missing, 0, "/a/b/c"},
		{`{"a":1}`, `[{"op":"add","path":"/a/b","value":1}]`, Missing, 0, "/a/b"},
		{`[1]`, `[{"op":"add","path":"/2","value":1}]`, Missing, 0, "/2"},
		{`[1]`, `[{"op":"remove","path":"/01"}]`, Missing, 0, "/01"},
		{`[1]`, `[{"op":"remove","path":"/-"}]`, Missing, 0, "/-"},
		{`[1]`, `[{"op":"remove","path":"/-1"}]`, Missing, 0, "/-1"},
		{`{"a":1}`, `[{"op":"copy","from":"/b","path":"/c"}]`, Missing, 0, "/b"},
		{`{"a":{"b":1}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, Malformed, 0, "/a/b"},
		{`{"a":1}`, `[{"op":"add","path":"a","value":1}]`, Malformed, 0, "a"},
		{`{"a":1}`, `[{"op":"add","path":"/~2","value":1}]`, Malformed, 0, "/~2"},
		{`{"a":1}`, `[{"op":"add","path":"/a"}]`, Malformed, 0, "/a"},
		{`{"a":1}`, `[{"op":"move","path":"/a"}]`, Malformed, 0, "/a"},
		{`{"a":1}`, `[{"op":"frob","path":"/a"}]`, Malformed, 0, "/a"},
		{`{"a":1}`, `[{"op":"remove"}]`, Malformed, 0, ""},
		{`{"a":1}`, `[{"op":"remove","path":""}]`, Malformed, 0, ""},
		{`{"a":1}`, `{"a":2}`, Malformed, -1, ""},
		{`{"a":1}`, `[1]`, Malformed, -1, ""},
		{`{"a":1}`, `[` + strings.Repeat(`{"op":"test","path":"/a","value":1},`, MaxOps) + `{"op":"test","path":"/a","value":1}]`, Malformed, -1, ""},
		{`{"a":["` + strings.Repeat("x", 1000) + `"]}`, `[` + strings.Repeat(`{"op":"copy","from":"","path":"/a/-"},`, 40) + `{"op":"test","path":"/a","value":1}]`, TooLarge, 10, "/a/-"}, // each doubles it
	} {
		_, err := Apply([]byte(c.doc), []byte(c.patch), limit)
		var f *Fault
		if !errors.As(err, &f) || f.Reason != c.reason || f.Index != c.index && c.reason != TooLarge || f.Path != c.path {
			t.Errorf("%.60s by %.100s: %#v, want %+v", c.doc, c.patch, err, c.reason)
		}
	}
}

// TestMerge has the examples of RFC 7396.
func TestMerge(t *testing.T) {
	for _, c := range []struct{ doc, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`}, {`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`}, {`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`}, {`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`}, {`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`}, {`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`}, {`{"a":"b"}`, `["c"]`, `["c"]`}, {`{"a":"foo"}`, `null`, `null`}, {`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`}, {`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`}, {`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"n":9007199254740993,"m":1}`, `{"m":9007199254740995}`, `{"n":9007199254740993,"m":9007199254740995}`},
	} {
		if got, err := Merge([]byte(c.doc), []byte(c.patch), limit); err != nil || string(got) != c.want {
			t.Errorf("%s by %s is %s, %v; want %s", c.doc, c.patch, got, err, c.want)
		}
	}
	var f *Fault
	if _, err := Merge([]byte(`{}`), []byte(`{"a":"xxxx"}`), 5); !errors.As(err, &f) || f.Reason != TooLarge {
		t.Errorf("a document over the limit: %v", err)
	}
	if _, err := Merge([]byte(`{}`), []byte(strings.Repeat(`{"a":`, 2000)+`1`+strings.Repeat(`}`, 2000)), limit); !errors.As(err, &f) || f.Reason != Malformed {
		t.Errorf("a patch that is too deep: %v", err)
	}
}

// FuzzApply: a patched document is JSON within its limit, and a fault is a Fault.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":2}]}`), []byte(`[{"op":"move","from":"/a/1","path":"/c"}]`))
	f.Add([]byte(`{"a":1}`), []byte(`[{"op":"copy","from":"","path":"/a"}]`))
	f.Add([]byte(`[1e5,0,-0.0]`), []byte(`[{"op":"test","path":"/0","value":100000}]`))
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		if !json.Valid(doc) {
			return
		}
		for _, fn := range []func(doc, patch []byte, limit int) ([]byte, error){Apply, Merge} {
			got, err := fn(doc, patch, 4<<10)
			var fault *Fault
			if err == nil && (!json.Valid(got) || len(got) > 4<<10) || err != nil && !errors.As(err, &fault) {
				t.Errorf("%s by %s is %s, %v", doc, patch, got, err)
			}
		}
	})
}

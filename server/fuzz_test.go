package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/problem"
)

// FuzzStrict holds the decoder against encoding/json: what it accepts means
// the same there, whichever of two equal names a reader takes, and survives a
// round trip.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"by":"a","request":"b","reason":"c","value":{"x":[1,2,{"y":null}]},"shown":"` + strings.Repeat("ab", 32) + `"}`,
		`{"by":"a","by":"b"}`, `{"BY":"a"}`, `{"reason":"\ud800"}`, `{"reason":"\ud83d\ude00"}`, `{"value":[[[[]]]]}`, "{\"by\":\"\xff\"}", `null`, `{"value":1}{}`, `{"shown":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b decideBody
		err := strict.Decode(data, &b)
		if err != nil {
			if e := problem.Client(err); e.Code != posthouse.CodeInvalid || !utf8.ValidString(e.Message) || len(e.Field) > 80 {
				t.Fatalf("the error is %#v", e)
			}
			return
		}
		var plain decideBody
		if err := json.Unmarshal(data, &plain); err != nil || !reflect.DeepEqual(plain, b) {
			t.Fatalf("encoding/json reads %+v, %v", plain, err)
		}
		if strings.ContainsRune(b.Reason, utf8.RuneError) && !strings.Contains(string(data), "\ufffd") && !strings.Contains(strings.ToLower(string(data)), `\ufffd`) {
			t.Fatalf("a character was replaced: %q", b.Reason)
		}
		var names map[string]json.RawMessage
		if err := json.Unmarshal(data, &names); err != nil {
			t.Fatal(err)
		}
		for n := range names {
			if !slices.Contains([]string{"by", "request", "reason", "value", "shown"}, n) {
				t.Fatalf("the name %q is accepted", n)
			}
		}
		again, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var b2 decideBody
		if err := strict.Decode(again, &b2); err != nil {
			t.Fatalf("what was read does not read again: %v", err)
		}
	})
}

// FuzzQuery holds the parser to its word: what it accepts is what url.Values
// says, once, declared and checked.
func FuzzQuery(f *testing.F) {
	for _, s := range []string{
		"", "limit=5&order=asc", "limit=0", "limit=5&limit=6", "agent=x%27%29+OR+%271%27%3D%271", "cursor=%00", "since=2026-01-01T00:00:00Z", "since=1", "a;b", "%zz", "thread=..%2f", "label=a=b&state=false", "thread=%ff",
	} {
		f.Add(s)
	}
	var params []api.Param
	for _, r := range (&checkpoints{}).Routes() {
		if r.Path == "/api/checkpoints" {
			params = r.Query
		}
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := api.ParseQuery(raw, params)
		if err != nil {
			if e := problem.Client(err); problem.Status(e.Code) >= 500 || len(e.Field) > 80 {
				t.Fatalf("the error is %#v", e)
			}
			return
		}
		vs, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range got {
			i := slices.IndexFunc(params, func(p api.Param) bool { return p.Name == name })
			if i < 0 || len(vs[name]) != 1 || vs[name][0] != v || params[i].Check(v) != nil || !utf8.ValidString(v) {
				t.Fatalf("%q is read as %q", raw, got)
			}
		}
		r := &api.Request{Query: got}
		if n := r.Number("limit", 100); n < 1 || n > maxLimit {
			t.Fatalf("the limit is %d", n)
		}
		if r.Millis("since") < 0 {
			t.Fatal("a time before time")
		}
	})
}

// FuzzScreen sends hosts, origins and paths through what every request passes
// first: what gets through is this server's own.
func FuzzScreen(f *testing.F) {
	for _, s := range [][3]string{
		{"localhost:8095", "", "/api/gates"}, {"127.0.0.1", "http://127.0.0.1", "/"}, {"evil.example", "null", "/../x"}, {"[::1]:80", "http://[::1]:80", "/a%2fb"},
		{"localhost.evil", "", "//x"}, {"", "", ""}, {"LOCALHOST", "http://localhost", "/a/%2e%2e/b"}, {"localhost", "http://localhost@evil", "/a\\b"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	s := &middleware{hosts: api.Hosts{"box": true}}
	cross := http.NewCrossOriginProtection()
	f.Fuzz(func(t *testing.T, host, origin, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		r := httptest.NewRequest("POST", "http://localhost/", nil)
		r.URL, r.Host = u, host
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if err := s.screen(cross, r); err != nil {
			if e := problem.Client(err); problem.Status(e.Code) >= 500 {
				t.Fatalf("the error is %#v", e)
			}
			return
		}
		lower := strings.ToLower(host)
		name, _, _ := strings.Cut(lower, ":")
		if name != "localhost" && name != "box" && !strings.HasPrefix(lower, "127.") && !strings.HasPrefix(lower, "[") && !strings.HasPrefix(lower, "::") {
			t.Fatalf("the host %q gets through", host)
		}
		if origin != "" {
			if o, err := url.Parse(origin); err != nil || !strings.EqualFold(o.Host, host) {
				t.Fatalf("the origin %q gets through for %q", origin, host)
			}
		}
		for i, seg := range strings.Split(u.EscapedPath(), "/") {
			seg, err := url.PathUnescape(seg)
			if err != nil || (seg == "") != (i == 0 || u.Path == "/") || seg == "." || seg == ".." || strings.ContainsRune(seg, 0) {
				t.Fatalf("the path %q gets through", path)
			}
		}
	})
}

// FuzzState sends a state in the form a client gives it in and back again.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":"eA=="}`), "b", "raw", false)
	f.Add([]byte(`[1,2]`), "", "", true)
	f.Add([]byte(`"eA=="`), "state", "raw", true)
	f.Add([]byte(`{"state":1}`), "x", "json", false)
	f.Fuzz(func(t *testing.T, raw []byte, part, codec string, opaque bool) {
		var in struct {
			Raw json.RawMessage `json:"raw"`
		}
		if strict.Decode(fmt.Appendf(nil, `{"raw":%s}`, raw), &in) != nil {
			return
		}
		codecs := map[string]string{}
		if part != "" {
			codecs[part] = codec
		}
		s, err := readState(raw, codecs, opaque)
		if err != nil {
			if problem.Client(err).Code != posthouse.CodeInvalid {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		v, err := view(&posthouse.Checkpoint{State: s})
		if err != nil {
			t.Fatal(err)
		}
		again, err := readState(v.State, v.Codecs, isOpaque(s))
		if err != nil || len(again) != len(s) {
			t.Fatalf("%s: shown as %s %v, it does not read again: %v", raw, v.State, v.Codecs, err)
		}
		for name, val := range s {
			a := again[name]
			if val.Codec != a.Codec || val.Codec != "json" && string(val.Data) != string(a.Data) {
				t.Fatalf("part %q is %v, then %v", name, val, a)
			}
		}
	})
}

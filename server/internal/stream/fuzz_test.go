package stream

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
)

// FuzzCursor sends Last-Event-ID through the check.
func FuzzCursor(f *testing.F) {
	for _, s := range []string{"", "now", "start", "01a1fc7b-12", "a b", "a\nid: 1", "\x00", strings.Repeat("a", 201), "ä"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, header, after string) {
		r := &api.Request{Request: &http.Request{Header: http.Header{"Last-Event-Id": {header}}}, Query: map[string]string{"after": after}}
		c, err := eventCursor(r)
		if err != nil {
			if problem.Client(err).Code != posthouse.CodeInvalid {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		if len(c) > MaxCursor || strings.ContainsAny(c, " \n\r\x00") || !utf8.ValidString(c) {
			t.Fatalf("the cursor is %q", c)
		}
		if want := header; want != "" && c != want && (want != "start" || c != "") {
			t.Fatalf("the cursor is %q, the header %q", c, want)
		}
	})
}

package api

import (
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
)

const cursorName = "cursor"

// unbound are the parameters that say how a page looks, not what the list has: they may change from
// page to page.
var unbound = []string{cursorName, "limit", "fields", "counts", "details", valuesParam}

// maxCursor bounds a cursor, in bytes.
const maxCursor = 4 << 10

// boundSize is how many bytes of the hash of its list a cursor has.
const boundSize = 9

// bindsCursor reports whether the cursors of a route are opaque. Those that are numbers are places in one
// thread, which the path names.
func (r *Route) bindsCursor() bool {
	return slices.ContainsFunc(r.Query, func(p Param) bool { return p.Name == cursorName && p.Kind == TextParam })
}

// list names the list that a request asks for: its path and filters.
func (r *Request) list() []byte {
	q := url.Values{}
	for name, value := range r.Query {
		if !slices.Contains(unbound, name) {
			q.Set(name, value)
		}
	}
	sum := sha256.Sum256([]byte(r.URL.EscapedPath() + "?" + q.Encode()))
	return sum[:boundSize]
}

// OpenCursor replaces the cursor of a request, which an earlier page of the same list gave, by what it
// stands for. [posthouse.ErrInvalid] for that of another list.
func (r *Request) OpenCursor() error {
	text := r.Query[cursorName]
	if text == "" || !r.Route.bindsCursor() {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(data) <= boundSize {
		return foreignCursor("is none that a page has given")
	}
	if string(data[:boundSize]) != string(r.list()) {
		return foreignCursor("is of another list, or of other filters")
	}
	r.Query[cursorName] = string(data[boundSize:])
	return nil
}

// SealCursor returns the cursor for clients of a place in a list. It is the reverse of [Request.OpenCursor].
func (r *Request) SealCursor(next string) string {
	if next == "" || !r.Route.bindsCursor() {
		return next
	}
	return base64.RawURLEncoding.EncodeToString(append(r.list(), next...))
}

func foreignCursor(what string) error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: cursorName, Message: what, Hint: "send next of the page before, with the same path and filters; without a cursor the list begins anew"}
}

// isCursor reports whether a parameter is an opaque cursor, and checks its form.
func isCursor(p *Param, v string) (is bool, err error) {
	if p.Name != cursorName || p.Kind != TextParam {
		return false, nil
	}
	if len(v) > maxCursor || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return true, foreignCursor("is none that a page has given")
	}
	return true, nil
}

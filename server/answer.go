package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
)

// writeJSON answers with v. The body is complete before the first byte goes
// out, so a failure is never half an answer. Strings on record keep their text:
// what HTML reads as a mark is not escaped, since no answer is HTML.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // the client may be gone: nobody else to tell
	return nil
}

// writePage answers with one page of a list and, in Link and X-Next-Cursor,
// where the next begins; next is "" on the last.
func writePage(w http.ResponseWriter, r *request, items any, next string) error {
	if next != "" {
		q := r.URL.Query()
		q.Set("cursor", next)
		u := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: q.Encode()}
		w.Header().Set("Link", "<"+u.String()+`>; rel="next"`)
		w.Header().Set(nextCursorHeader, next)
	}
	return writeJSON(w, http.StatusOK, items)
}

// etag is what GET answers with and If-Match compares: the hash of the entry
// that holds a checkpoint or gate.
func etag(h posthouse.Hash) string { return `"` + h.String() + `"` }

// fresh sets the ETag and reports whether the client has this version already,
// which is then answered.
func fresh(w http.ResponseWriter, r *request, h posthouse.Hash) bool {
	w.Header().Set("ETag", etag(h))
	if !matches(r.Header.Values("If-None-Match"), h) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// precondition checks If-Match.
func precondition(r *request, h posthouse.Hash) error {
	want := r.Header.Values("If-Match")
	if len(want) == 0 || matches(want, h) {
		return nil
	}
	return &posthouse.Error{
		Code: CodePrecondition, Field: "If-Match", Message: "is not what this is now: its ETag is " + etag(h),
		Hint: "look at it again, then decide",
	}
}

func matches(headers []string, h posthouse.Hash) bool {
	for _, line := range headers {
		for _, tag := range strings.Split(line, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag(h) {
				return true
			}
		}
	}
	return false
}

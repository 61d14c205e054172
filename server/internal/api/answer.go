package api

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/verbatim"
	"github.com/posthouse/posthouse/server/problem"
)

// WriteJSON answers with v. The body is complete before the first byte goes
// out, so a failure is never half an answer. Strings on record keep their text:
// what HTML reads as a mark is not escaped, since no answer is HTML.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	body, err := Encode(w, v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
	return nil
}

// Encode returns v as JSON in the form that the request asked for.
func Encode(w http.ResponseWriter, v any) ([]byte, error) {
	if recorder(w).Verbatim {
		return verbatim.Marshal(v)
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(body.Bytes(), []byte("\n")), err
}

// WriteProblem answers with an error, in the form that the request asked for.
func WriteProblem(w http.ResponseWriter, err error) {
	problem.WriteAs(w, err, func(v any) ([]byte, error) { return Encode(w, v) })
}

// ETag is what GET answers with and If-Match compares: the hash of the entry
// that holds a checkpoint or gate.
func ETag(h posthouse.Hash) string { return `"` + h.String() + `"` }

// Fresh sets the ETag. It reports whether the client has this version already; then
// it has answered with 304.
func Fresh(w http.ResponseWriter, r *Request, h posthouse.Hash) bool {
	w.Header().Set("ETag", ETag(h))
	if !matches(r.Header.Values("If-None-Match"), h) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// Precondition checks If-Match.
func Precondition(r *Request, h posthouse.Hash) error {
	want := r.Header.Values("If-Match")
	if len(want) == 0 || matches(want, h) {
		return nil
	}
	return &posthouse.Error{
		Code: problem.CodePrecondition, Field: "If-Match", Message: "is not what this is now: its ETag is " + ETag(h),
		Hint: "look at it again, then decide",
	}
}

func matches(headers []string, h posthouse.Hash) bool {
	for _, line := range headers {
		for _, tag := range strings.Split(line, ",") {
			tag = strings.TrimSpace(tag)
			if tag == "*" || strings.TrimPrefix(tag, "W/") == ETag(h) {
				return true
			}
		}
	}
	return false
}

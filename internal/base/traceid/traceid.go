package traceid

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// Header is the header that carries a [Context] between programs.
const Header = "traceparent"

// A Context names a trace, and the span in it under which work goes on. Neither id is all zeros.
type Context struct {
	Trace [16]byte
	Span  [8]byte
	Flags byte // bit 0: the caller records this trace
}

// New returns the context of a new trace.
func New() (c Context) {
	_, _ = rand.Read(c.Trace[:]) // never fails: crypto/rand aborts the program instead
	_, _ = rand.Read(c.Span[:])
	return c
}

// Parse reads the value of a traceparent header. It is false for a value that the standard refuses:
// then a new trace begins. Of a version to come the members that are known are taken.
func Parse(s string) (c Context, ok bool) {
	const length = len("00-") + 32 + 1 + 16 + len("-00")
	if len(s) < length || s[2] != '-' || s[35] != '-' || s[52] != '-' || s != strings.ToLower(s) {
		return c, false
	}
	var version, flags [1]byte
	for _, p := range []struct {
		to   []byte
		text string
	}{{version[:], s[:2]}, {c.Trace[:], s[3:35]}, {c.Span[:], s[36:52]}, {flags[:], s[53:55]}} {
		if _, err := hex.Decode(p.to, []byte(p.text)); err != nil {
			return Context{}, false
		}
	}
	switch {
	case version[0] == 0xff, c.Trace == [16]byte{}, c.Span == [8]byte{}:
		return Context{}, false
	case version[0] == 0 && len(s) != length, len(s) > length && s[length] != '-':
		return Context{}, false
	}
	c.Flags = flags[0]
	return c, true
}

// TraceID returns the trace's id in 32 hexadecimal digits.
func (c Context) TraceID() string { return hex.EncodeToString(c.Trace[:]) }

// SpanID returns the span's id in 16 hexadecimal digits.
func (c Context) SpanID() string { return hex.EncodeToString(c.Span[:]) }

// String returns the value of a traceparent header.
func (c Context) String() string {
	return "00-" + c.TraceID() + "-" + c.SpanID() + "-" + hex.EncodeToString([]byte{c.Flags})
}

package api

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/internal/verbatim"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// A Request is an HTTP request that passed its route's checks.
type Request struct {
	*http.Request
	Route *Route
	Actor tokens.Token      // who sent it; zero on public routes
	Query map[string]string // the parameters given, each checked
	Sent  io.Reader         // the whole body, without the limit of Body

	// Reserved is what a request with the header [KeyHeader] has on record; zero without one.
	Reserved Reserved

	names map[string]string // of the path, by variable; see CheckPath
}

// SaysNothing reports whether the body is an empty object, which many clients send with every POST. It
// reads short bodies only.
func (r *Request) SaysNothing() bool {
	if r.ContentLength > 64 {
		return false
	}
	data, err := io.ReadAll(r.Body)
	return err == nil && string(bytes.Join(bytes.Fields(data), nil)) == "{}"
}

// A Reserved is what a request under a key has on record before its handler begins.
type Reserved struct {
	ID posthouse.ID // of what it makes, the same in each attempt; "" without a key
	At time.Time    // when the first attempt began, by the Ledger's clock in that process

	// Again says that an earlier attempt did not get to its answer: the process was lost, or it
	// failed. Its work may be on record.
	Again bool
}

// A ParamKind says what a query parameter may hold.
type ParamKind int

// The kinds of parameters.
const (
	TextParam    ParamKind = iota // up to 1,000 bytes of text without control characters
	IDParam                       // an id
	NameParam                     // a name
	segmentParam                  // a name that the path has a - for; never empty
	IntParam                      // a number from 0 to max
	BoolParam                     // true or false
	TimeParam                     // RFC 3339, or Unix milliseconds
	EnumParam                     // one of values
	BodyParam                     // any valid text
)

// A Param is a query parameter of a route: what is checked is also what is
// documented.
type Param struct {
	Name   string
	Kind   ParamKind
	Help   string
	Max    int      // of an IntParam; 0: no limit
	Values []string // of an EnumParam
	Def    string   // documented default
}

const maxParamText = 1000

// Check reports what is wrong with a value: [posthouse.ErrInvalid] names the
// parameter.
func (p *Param) Check(v string) error {
	switch p.Kind {
	case IDParam:
		if posthouse.ID(v).Validate() != nil {
			return posthouse.Invalid(p.Name, "%.80q is no id: 1 to %d letters, digits and . _ : $ -", v, posthouse.MaxID)
		}
	case NameParam, segmentParam:
		return posthouse.ValidateName(p.Name, v)
	case IntParam:
		n, err := strconv.ParseUint(v, 10, 63)
		if err != nil || p.Max > 0 && (n > uint64(p.Max) || n == 0) {
			if p.Max > 0 {
				return posthouse.Invalid(p.Name, "%.40q must be a number from 1 to %d", v, p.Max)
			}
			return posthouse.Invalid(p.Name, "%.40q must be a number", v)
		}
	case BoolParam:
		if v != "true" && v != "false" {
			return posthouse.Invalid(p.Name, "%.40q must be true or false", v)
		}
	case TimeParam:
		if _, ok := parseTime(v); !ok {
			return posthouse.Invalid(p.Name, "%.40q must be a time like 2026-01-31T12:00:00Z, or Unix milliseconds", v)
		}
	case EnumParam:
		if !slices.Contains(p.Values, v) {
			return posthouse.Invalid(p.Name, "%.40q is not one of %s", v, strings.Join(p.Values, ", "))
		}
	case TextParam:
		if len(v) > maxParamText || strings.ContainsFunc(v, unicode.IsControl) {
			return posthouse.Invalid(p.Name, "must be at most %d bytes of text without control characters", maxParamText)
		}
	}
	return nil
}

// ParseQuery reads a query string by a route's parameters. A parameter
// that is not declared, given twice or malformed is an error that names it: a filter that
// is misspelt must not answer as if it were not there.
func ParseQuery(raw string, params []Param) (map[string]string, error) {
	if len(raw) > 1<<16 {
		return nil, &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "query", Message: "is longer than 64 KiB", Hint: "send it in the body"}
	}
	vs, err := url.ParseQuery(raw)
	if err != nil {
		return nil, posthouse.Invalid("query", "is malformed")
	}
	out := make(map[string]string, len(vs))
	for name, v := range vs {
		i := slices.IndexFunc(params, func(p Param) bool { return p.Name == name })
		switch {
		case !utf8.ValidString(name):
			return nil, posthouse.Invalid("query", "is not valid UTF-8")
		case i < 0:
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: fmt.Sprintf("%.80s", name), Message: "is not a parameter of this path", Hint: "/openapi.json lists them",
			}
		case len(v) > 1:
			return nil, posthouse.Invalid(name, "is given twice")
		case !utf8.ValidString(v[0]):
			return nil, posthouse.Invalid(name, "is not valid UTF-8")
		}
		if v[0] == "" && params[i].Name == "by" {
			return nil, posthouse.Invalid("by", "is empty; leave it out to act as the token's owner")
		}
		if v[0] == "" && namesPerson(name) {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: name, Message: "names no person", Hint: "name one, or leave it out to list what everybody is asked"}
		}
		if v[0] == "" && params[i].Kind != BodyParam && params[i].Kind != segmentParam {
			continue // an empty filter does not filter
		}
		is, err := isCursor(&params[i], v[0])
		if !is {
			err = params[i].Check(v[0])
		}
		if err != nil {
			return nil, err
		}
		out[name] = v[0]
	}
	return out, nil
}

// namesPerson reports whether a filter is about a person: an empty name is not to list what everybody is
// asked, decided and made.
func namesPerson(name string) bool {
	switch name {
	case "assignee", "assigned", "decider", "requester":
		return true
	}
	return false
}

func parseTime(v string) (posthouse.Millis, bool) {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return posthouse.Millis(n), n > 0
	}
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil || t.UnixMilli() <= 0 {
		return 0, false
	}
	return posthouse.Millis(t.UnixMilli()), true
}

// Has tells whether a parameter was given.
func (r *Request) Has(name string) bool { _, ok := r.Query[name]; return ok }

// Number returns a checked [IntParam], or def.
func (r *Request) Number(name string, def int) int {
	if n, err := strconv.Atoi(r.Query[name]); err == nil {
		return n
	}
	return def
}

// Millis returns a checked [TimeParam].
func (r *Request) Millis(name string) posthouse.Millis {
	t, _ := parseTime(r.Query[name]) // checked before; absent is 0
	return t
}

// Decode reads the body into v. No body leaves v as it is.
func (r *Request) Decode(v any) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		if problem.Client(err).Code == problem.CodeInternal {
			return posthouse.Invalid("body", "could not be read")
		}
		return err
	}
	if len(data) == 0 {
		return nil
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return &posthouse.Error{
			Code: problem.CodeMediaType, Field: "Content-Type", Message: "must be application/json", Hint: "with curl, use --json",
		}
	}
	if r.verbatim() {
		data, err = verbatim.Restore(data, reflect.TypeOf(v))
		if err != nil {
			return err
		}
	}
	return strict.Decode(data, v)
}

// verbatim reports whether values on record are strings in body and answer.
func (r *Request) verbatim() bool { return r.Query[valuesParam] == "text" }

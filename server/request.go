package server

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/tokens"
)

// A request is an HTTP request that passed its route's checks.
type request struct {
	*http.Request
	route *route
	actor tokens.Token      // who sent it; zero on public routes
	query map[string]string // the parameters given, each checked
	sent  io.Reader         // the whole body, behind the limit of Body
}

// A paramKind says what a query parameter may hold.
type paramKind int

const (
	textParam    paramKind = iota // up to 1,000 bytes of text without control characters
	idParam                       // an id
	nameParam                     // a name
	segmentParam                  // a name that the path has a - for; never empty
	intParam                      // a number from 0 to max
	boolParam                     // true or false
	timeParam                     // RFC 3339, or Unix milliseconds
	enumParam                     // one of values
	hashParam                     // 64 hexadecimal digits
	bodyParam                     // any valid text
)

// A param is a query parameter of a route: what is checked is also what is
// documented.
type param struct {
	name   string
	kind   paramKind
	help   string
	max    int
	values []string
	def    string // documented default
}

const maxParamText = 1000

func (p *param) check(v string) error {
	switch p.kind {
	case idParam:
		if posthouse.ID(v).Validate() != nil {
			return strict.Invalid(p.name, "%.80q is no id: 1 to %d letters, digits and . _ : $ -", v, posthouse.MaxID)
		}
	case nameParam, segmentParam:
		return posthouse.ValidateName(p.name, v)
	case intParam:
		n, err := strconv.ParseUint(v, 10, 63)
		if err != nil || p.max > 0 && (n > uint64(p.max) || n == 0) {
			if p.max > 0 {
				return strict.Invalid(p.name, "%.40q must be a number from 1 to %d", v, p.max)
			}
			return strict.Invalid(p.name, "%.40q must be a number", v)
		}
	case boolParam:
		if v != "true" && v != "false" {
			return strict.Invalid(p.name, "%.40q must be true or false", v)
		}
	case timeParam:
		if _, ok := parseTime(v); !ok {
			return strict.Invalid(p.name, "%.40q must be a time like 2026-01-31T12:00:00Z, or Unix milliseconds", v)
		}
	case enumParam:
		if !slices.Contains(p.values, v) {
			return strict.Invalid(p.name, "%.40q is not one of %s", v, strings.Join(p.values, ", "))
		}
	case hashParam:
		if new(posthouse.Hash).UnmarshalText([]byte(v)) != nil || v == "" {
			return strict.Invalid(p.name, "%.80q must be 64 hexadecimal digits", v)
		}
	case textParam:
		if len(v) > maxParamText || strings.ContainsFunc(v, unicode.IsControl) {
			return strict.Invalid(p.name, "must be at most %d bytes of text without control characters", maxParamText)
		}
	}
	return nil
}

// parseQuery reads a query string by the route's parameters. What is not
// declared, given twice or malformed is an error that names it: a filter that
// is misspelt must not answer as if it were not there.
func parseQuery(raw string, params []param) (map[string]string, error) {
	if len(raw) > 1<<16 {
		return nil, &posthouse.Error{Code: posthouse.CodeTooLarge, Field: "query", Message: "is longer than 64 KiB", Hint: "send it in the body"}
	}
	vs, err := url.ParseQuery(raw)
	if err != nil {
		return nil, strict.Invalid("query", "is malformed")
	}
	out := make(map[string]string, len(vs))
	for name, v := range vs {
		i := slices.IndexFunc(params, func(p param) bool { return p.name == name })
		switch {
		case !utf8.ValidString(name):
			return nil, strict.Invalid("query", "is not valid UTF-8")
		case i < 0:
			return nil, &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: strict.Cut(name, 80), Message: "is not a parameter of this path", Hint: "/openapi.json lists them",
			}
		case len(v) > 1:
			return nil, strict.Invalid(name, "is given twice")
		case !utf8.ValidString(v[0]):
			return nil, strict.Invalid(name, "is not valid UTF-8")
		}
		if v[0] == "" && params[i].name == "by" {
			return nil, strict.Invalid("by", "is empty; leave it out to act as the token's owner")
		}
		if v[0] == "" && params[i].kind != bodyParam && params[i].kind != segmentParam {
			continue // an empty filter is none
		}
		if err := params[i].check(v[0]); err != nil {
			return nil, err
		}
		out[name] = v[0]
	}
	return out, nil
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

// has tells whether a parameter was given.
func (r *request) has(name string) bool { _, ok := r.query[name]; return ok }

// number returns a checked intParam, or def.
func (r *request) number(name string, def int) int {
	if n, err := strconv.Atoi(r.query[name]); err == nil {
		return n
	}
	return def
}

// millis returns a checked timeParam.
func (r *request) millis(name string) posthouse.Millis {
	t, _ := parseTime(r.query[name]) // checked before; absent is 0
	return t
}

// id returns a path segment that must be an id.
func (r *request) id(name string) (posthouse.ID, error) {
	id := posthouse.ID(r.PathValue(name))
	if id.Validate() != nil {
		return "", strict.Invalid(name, "%.80q is no id: 1 to %d letters, digits and . _ : $ -", string(id), posthouse.MaxID)
	}
	return id, nil
}

// decode reads the body into v. No body leaves v as it is.
func (r *request) decode(v any) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		if clientError(err).Code == CodeInternal {
			return strict.Invalid("body", "could not be read")
		}
		return err
	}
	if len(data) == 0 {
		return nil
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return &posthouse.Error{
			Code: CodeMediaType, Field: "Content-Type", Message: "must be application/json", Hint: "with curl, use --json",
		}
	}
	return strict.Decode(data, v)
}

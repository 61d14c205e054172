package api

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/verbatim"
	"github.com/posthouse/posthouse/server/tokens"
)

// elsewhere takes the place in a path of a name that is given as a parameter.
const elsewhere = "-"

// NameOf returns the parameter that can replace a variable of a path, or "" if
// the variable is an id.
func NameOf(path, variable string) string {
	switch {
	case variable == "id" && strings.HasPrefix(path, "/api/threads/"):
		return "thread"
	case variable == "name":
		return "coordination"
	case variable == "agent", variable == "signal", variable == "program", variable == "owner":
		return variable
	}
	return ""
}

// valuesParam is the parameter that says how values on record are written.
const valuesParam = "values"

// Complete adds to each route the parameters that follow from its path, its body and its answers: for
// names that cannot be a segment of a path, and for the form of values on record.
func Complete(rs []*Route) []*Route {
	for _, r := range rs {
		if r.hasValues() {
			r.Query = append(r.Query[:len(r.Query):len(r.Query)], Param{
				Name: valuesParam, Kind: EnumParam, Values: []string{"json", "text"}, Def: "json",
				Help: "text: payloads, schemas, states, inputs and results are strings of their bytes on record, in the body too, so that no client makes floats of their numbers",
			})
		}
		for _, m := range pathParam.FindAllStringSubmatch(r.Path, -1) {
			if p := NameOf(r.Path, m[1]); p != "" {
				r.Query = append(r.Query[:len(r.Query):len(r.Query)], Param{
					Name: p, Kind: segmentParam,
					Help: "the " + p + ", where the path has - for it: names . and .. need that, since no path leads there, and any name may be given so",
				})
			}
		}
	}
	return rs
}

// hasValues reports whether body or answers have values on record.
func (r *Route) hasValues() bool {
	if r.Style == Socket || r.Role == tokens.Worker || r.Role == "" && !r.Approval {
		return false
	}
	has := r.Body != nil && verbatim.Has(reflect.TypeOf(r.Body))
	for _, a := range r.Answers {
		has = has || a.Body != nil && verbatim.Has(reflect.TypeOf(a.Body))
	}
	return has
}

// CheckPath reads the names and ids of the path, for [Request.Name] and
// [Request.ID]. [posthouse.ErrInvalid] names the one at fault.
func (r *Request) CheckPath() error {
	r.names = map[string]string{}
	for _, m := range pathParam.FindAllStringSubmatch(r.Route.Path, -1) {
		variable := m[1]
		p := NameOf(r.Route.Path, variable)
		if p == "" {
			id := posthouse.ID(r.PathValue(variable))
			if id.Validate() != nil {
				return posthouse.Invalid(variable, "%.80q is no id: 1 to %d letters, digits and . _ : $ -", string(id), posthouse.MaxID)
			}
			r.names[variable] = string(id)
			continue
		}
		name, err := r.pathName(p, r.PathValue(variable))
		if err != nil {
			return err
		}
		r.names[variable] = name
	}
	return nil
}

// Name returns a name that is a segment of the path, or a parameter.
func (r *Request) Name(variable string) string { return r.names[variable] }

// Names returns all names and ids that are segments of the path.
func (r *Request) Names() []string { return slices.Collect(maps.Values(r.names)) }

// ID returns an id that is a segment of the path.
func (r *Request) ID(variable string) posthouse.ID { return posthouse.ID(r.names[variable]) }

// pathName returns the name that a segment has, or the parameter p in its place.
func (r *Request) pathName(p, name string) (string, error) {
	if given, ok := r.Query[p]; ok {
		if name != elsewhere {
			return "", &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: p, Message: "is given beside the name in the path", Hint: "write - there, or leave the parameter out",
			}
		}
		name = given
	}
	if p == "signal" {
		return name, nil // the Ledger has its own rule for those
	}
	return name, posthouse.ValidateName(p, name)
}

// ThreadPath is where a thread is.
func ThreadPath(thread string) string {
	if thread == "." || thread == ".." {
		return "/api/threads/" + elsewhere + "?thread=" + thread
	}
	return "/api/threads/" + url.PathEscape(thread)
}

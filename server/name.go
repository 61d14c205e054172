package server

import (
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
)

// elsewhere stands in a path for a name that a parameter says.
const elsewhere = "-"

// nameOf returns the parameter that takes what a variable of a path names, ""
// if that is no name but an id.
func nameOf(path, variable string) string {
	switch {
	case variable == "id" && strings.HasPrefix(path, "/api/threads/"):
		return "thread"
	case variable == "name":
		return "coordination"
	case variable == "agent", variable == "signal":
		return variable
	}
	return ""
}

// named adds to each route the parameters for names that cannot be a segment of
// its path.
func named(rs []*route) []*route {
	for _, r := range rs {
		for _, m := range pathParam.FindAllStringSubmatch(r.path, -1) {
			if p := nameOf(r.path, m[1]); p != "" {
				r.query = append(r.query[:len(r.query):len(r.query)], param{
					name: p, kind: segmentParam,
					help: "the " + p + ", where the path has - for it: names . and .. need that, since no path leads there, and any name may be given so",
				})
			}
		}
	}
	return rs
}

// name returns a name that is a segment of the path, or a parameter.
func (r *request) name(variable string) (string, error) {
	p := nameOf(r.route.path, variable)
	name := r.PathValue(variable)
	if given, ok := r.query[p]; ok {
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

// threadPath is where a thread is.
func threadPath(thread string) string {
	if thread == "." || thread == ".." {
		return "/api/threads/" + elsewhere + "?thread=" + thread
	}
	return "/api/threads/" + url.PathEscape(thread)
}

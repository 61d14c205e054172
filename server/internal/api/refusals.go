package api

import (
	"net/http"
	"reflect"

	"github.com/posthouse/posthouse/server/problem"
)

// refusalNames are the names of answers that say what is wrong with a request, among the components.
var refusalNames = map[int]string{
	http.StatusBadRequest: "invalid", http.StatusUnauthorized: "unauthenticated", http.StatusForbidden: "forbidden", http.StatusNotFound: "notFound",
	http.StatusConflict: "conflict", http.StatusRequestEntityTooLarge: "tooLarge", http.StatusUnprocessableEntity: "keyReused", http.StatusTooManyRequests: "tooMany",
}

var refusalHelp = map[int]string{
	http.StatusBadRequest:            "A parameter, a header or the body is wrong: field names it",
	http.StatusUnauthorized:          "There is no valid token",
	http.StatusForbidden:             "The token's role, or the person, may not",
	http.StatusNotFound:              "There is no such thing",
	http.StatusConflict:              "It does not fit what is on record: the code says how, and what won is beside it",
	http.StatusRequestEntityTooLarge: "The body is over a limit",
	http.StatusUnprocessableEntity:   "The header " + KeyHeader + " was sent with another request before",
	http.StatusTooManyRequests:       "Too much is asked for at once: Retry-After says when to try again",
}

// refusals returns the statuses with which a route refuses a request, beside others of default.
func refusals(r *Route) []int {
	statuses := []int{http.StatusBadRequest}
	if r.Signed {
		return []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusRequestEntityTooLarge}
	}
	if r.Role != "" || r.Approval {
		statuses = append(statuses, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
	}
	if pathParam.MatchString(r.Path) {
		statuses = append(statuses, http.StatusNotFound)
	}
	if r.Method != http.MethodGet {
		statuses = append(statuses, http.StatusConflict)
	}
	if r.Body != nil || r.Form {
		statuses = append(statuses, http.StatusRequestEntityTooLarge)
	}
	if r.TakesKey() {
		statuses = append(statuses, http.StatusUnprocessableEntity)
	}
	return statuses
}

// problems are the components of answers that are no success.
func (d *describer) problems() object {
	content := object{"application/problem+json": object{"schema": d.schema(reflect.TypeFor[problem.Details]())}}
	all := object{"problem": object{"description": "What went wrong, and what to do next", "content": content}}
	for status, name := range refusalNames {
		all[name] = object{"description": refusalHelp[status], "content": content}
	}
	return all
}

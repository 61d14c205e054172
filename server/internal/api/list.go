package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/problem"
)

// A List is one page of a list, in the form that all lists have but GET /api/checkpoints.
type List[T any] struct {
	Items  []T            `json:"items" doc:"what is on this page"`
	Next   string         `json:"next,omitempty" doc:"the parameter cursor for the page after this; absent on the last"`
	Counts map[string]int `json:"counts,omitempty" doc:"how many there are on all pages, where counts were asked for"`

	Snoozed int  `json:"snoozed,omitempty" doc:"of the inbox, with counts: how many more the assignee hid for now"`
	More    bool `json:"more,omitempty" doc:"there may be others, which were not counted, or not looked at in this order"`
}

// FieldsParam is the parameter of lists that leaves out members.
func FieldsParam() Param {
	return Param{Name: "fields", Kind: TextParam, Help: "only these members of each item, by their names with commas between them"}
}

// WriteList answers with one page of a list. It says where the next page begins in the answer, and
// in the headers Link and X-Next-Cursor. The parameter fields leaves the other members out.
func WriteList[T any](w http.ResponseWriter, r *Request, page List[T]) error {
	if page.Items == nil {
		page.Items = []T{}
	}
	names, err := r.Fields(reflect.TypeFor[T]())
	if err != nil {
		return err
	}
	page.Next = r.SealCursor(page.Next)
	NoteNext(w, r, page.Next)
	if names == nil {
		return WriteJSON(w, http.StatusOK, page)
	}
	defer func(form bool) { recorder(w).Verbatim = form }(recorder(w).Verbatim)
	picked := List[map[string]json.RawMessage]{Items: make([]map[string]json.RawMessage, len(page.Items)), Next: page.Next, Counts: page.Counts, Snoozed: page.Snoozed, More: page.More}
	for i := range page.Items {
		picked.Items[i], err = pick(w, &page.Items[i], names)
		if err != nil {
			return err
		}
	}
	recorder(w).Verbatim = false // the members have their form already
	return WriteJSON(w, http.StatusOK, picked)
}

// pick returns the members of these names.
func pick(w http.ResponseWriter, item any, names []string) (map[string]json.RawMessage, error) {
	text, err := Encode(w, item)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	some := make(map[string]json.RawMessage, len(names))
	for _, name := range names {
		if v, ok := all[name]; ok {
			some[name] = v
		}
	}
	return some, nil
}

// Fields returns what the parameter fields names, nil without it. [posthouse.ErrInvalid] lists the
// members that an item of type t has.
func (r *Request) Fields(t reflect.Type) ([]string, error) {
	given := r.Query["fields"]
	if given == "" {
		return nil, nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var known []string
	for _, f := range strict.Fields(t) {
		known = append(known, f.Name)
	}
	names := strings.Split(given, ",")
	for _, name := range names {
		if !slices.Contains(known, name) {
			e := posthouse.Invalid("fields", "%.80q is no member of an item here", name)
			slices.Sort(known)
			e.Hint = "there is " + strings.Join(known, ", ")
			return nil, e
		}
	}
	return names, nil
}

// NoteNext says in the headers where the next page begins; next is "" on the last.
func NoteNext(w http.ResponseWriter, r *Request, next string) {
	if next == "" {
		return
	}
	q := r.URL.Query()
	q.Set("cursor", next)
	u := url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: q.Encode()}
	w.Header().Set("Link", "<"+u.String()+`>; rel="next"`)
	w.Header().Set(problem.NextCursorHeader, next)
}

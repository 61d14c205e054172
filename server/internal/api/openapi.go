package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
)

// object is a JSON object under construction.
type object = map[string]any

// SessionCookie is the cookie of who is logged in with a browser.
const SessionCookie = "posthouse_session"

const keyHelp = "Names the request, so that it may be sent again: within a day its sender gets the first answer, with the header " + ReplayedHeader +
	", and nothing is done twice. 422 key-reused for another request under the key, 409 in-progress while the first is worked on"

var pathParam = regexp.MustCompile(`\{([a-z]+)\}`)

// OpenAPI describes the routes as an OpenAPI 3.1 document. All of it comes from
// the table that also does the work, so it cannot say anything else.
func OpenAPI(routes []*Route, version string) ([]byte, error) {
	d, err := newDescriber(routes)
	if err != nil {
		return nil, err
	}
	paths := object{}
	for _, r := range routes {
		path := strings.TrimSuffix(r.Path, "{$}")
		item, ok := paths[path].(object)
		if !ok {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(r.Method)] = d.operation(r)
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Posthouse", "version": Version, "x-server-version": cmp.Or(version, "dev"),
			"description": "Version " + Version + " of the paths below /api: what clients use stays as it is, and members, parameters and paths may be added. A change that breaks clients would get paths below /api/v2. Durable checkpoints and approvals for agent workflows. Roles, weakest first: viewer reads, approver also decides gates, operator does everything. A worker handles tasks and reads nothing.",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":  []object{{"url": "/", "description": "the server that gave this description"}},
		"paths":    paths,
		"tags":     tagsOf(routes),
		"security": []object{{"token": []string{}}, {"session": []string{}}},
		"components": object{
			"schemas": d.schemas,
			"securitySchemes": object{
				"token":    object{"type": "http", "scheme": "bearer", "description": "an access token: posthouse token create"},
				"approval": object{"type": "http", "scheme": "bearer", "description": "an approval token of the gate: posthouse token approval"},
				"session":  object{"type": "apiKey", "in": "cookie", "name": SessionCookie, "description": "made by the login page"},
			},
			"responses": d.problems(),
		},
	})
}

func (d *describer) operation(r *Route) object {
	op := object{"summary": r.Summary, "operationId": operationID(r), "tags": []string{tagOf(r)}, "responses": d.responses(r)}
	if r.Notes != "" {
		op["description"] = r.Notes
	}
	switch {
	case r.Signed:
		op["security"] = []object{}
	case r.Approval:
		op["security"] = []object{{"approval": []string{}}}
	case r.Role == "":
		op["security"] = []object{}
	default:
		op["x-role"] = r.Role
	}
	var params []object
	for _, m := range pathParam.FindAllStringSubmatch(r.Path, -1) {
		schema := idSchema()
		if NameOf(r.Path, m[1]) != "" {
			schema = nameSchema()
		}
		params = append(params, object{"name": m[1], "in": "path", "required": true, "schema": schema})
	}
	for _, p := range r.Query {
		params = append(params, object{"name": p.Name, "in": "query", "description": p.Help, "schema": p.schema()})
	}
	if r.TakesKey() {
		params = append(params, object{"name": KeyHeader, "in": "header", "description": keyHelp, "schema": object{"type": "string", "pattern": `^[!-~]{1,255}$`}})
	}
	if params != nil {
		op["parameters"] = params
	}
	switch {
	case r.Form:
		op["requestBody"] = object{"required": true, "content": object{"application/x-www-form-urlencoded": object{
			"schema": object{"type": "object", "properties": object{"token": object{"type": "string"}}, "required": []string{"token"}},
		}}}
	case r.Signed:
		op["requestBody"] = object{"required": true, "content": object{"application/x-www-form-urlencoded": object{
			"schema": object{"type": "object", "properties": object{"payload": object{"type": "string", "description": "JSON, as the service defines it"}}},
		}}}
	case r.Body != nil:
		content := object{"application/json": withExample(object{"schema": d.schema(reflect.TypeOf(r.Body))}, r.Example)}
		if r.Patches {
			maps.Copy(content, patches())
		}
		op["requestBody"] = object{"content": content}
	}
	return op
}

// patches are the bodies of a route that takes patches.
func patches() object {
	text := object{"type": "string"}
	return object{
		JSONPatch: object{
			"schema": object{"type": "array", "description": "operations of RFC 6902", "items": object{"type": "object", "required": []string{"op", "path"}, "properties": object{
				"op": object{"type": "string", "enum": []string{"add", "remove", "replace", "move", "copy", "test"}}, "path": text, "from": text, "value": object{},
			}}},
			"example": []object{{"op": "test", "path": "/amount", "value": 40}, {"op": "replace", "path": "/amount", "value": 35}},
		},
		MergePatch: object{"schema": object{"type": "object", "description": "members to set, and null for those to remove: RFC 7396"}, "example": object{"amount": 35}},
	}
}

func (d *describer) responses(r *Route) object {
	rs := object{"default": object{"$ref": "#/components/responses/problem"}}
	for _, status := range refusals(r) {
		rs[strconv.Itoa(status)] = object{"$ref": "#/components/responses/" + refusalNames[status]}
	}
	for _, a := range r.Answers {
		key := strconv.Itoa(a.Status)
		resp, ok := rs[key].(object)
		if !ok {
			resp = object{"description": a.Help}
			rs[key] = resp
		}
		media := cmp.Or(a.Media, "application/json")
		content, ok := resp["content"].(object)
		if !ok {
			content = object{}
		}
		switch {
		case a.Body != nil:
			content[media] = withExample(object{"schema": d.schema(reflect.TypeOf(a.Body))}, a.Example)
		case a.Media != "":
			content[media] = object{}
		default:
			continue
		}
		resp["content"] = content
	}
	return rs
}

func withExample(media object, example any) object {
	if example != nil {
		media["example"] = example
	}
	return media
}

// operationID returns a name for generated clients, such as "getApiCheckpointsById".
func operationID(r *Route) string {
	id := strings.ToLower(r.Method)
	for _, seg := range strings.FieldsFunc(strings.TrimSuffix(r.Path, "{$}"), func(c rune) bool { return strings.ContainsRune("/.-$", c) }) {
		if name, ok := strings.CutPrefix(seg, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			if name != "" {
				id += "By" + strings.ToUpper(name[:1]) + name[1:]
			}
			continue
		}
		id += strings.ToUpper(seg[:1]) + seg[1:]
	}
	if id == strings.ToLower(r.Method) {
		id += "Page"
	}
	return id
}

func idSchema() object {
	return object{"type": "string", "pattern": `^[A-Za-z0-9._:$-]{1,200}$`}
}

// nameSchema counts characters where names count bytes: the server says more.
func nameSchema() object {
	return object{"type": "string", "minLength": 1, "maxLength": posthouse.MaxID, "pattern": `^[^\u0000-\u001f\u007f-\u009f]+$`}
}

func (p *Param) schema() object {
	s := object{"type": "string"}
	switch p.Kind {
	case IDParam:
		s = idSchema()
	case NameParam, segmentParam:
		s = nameSchema()
	case IntParam:
		s = object{"type": "integer", "minimum": 0}
		if p.Max > 0 {
			s["minimum"], s["maximum"] = 1, p.Max
		}
	case BoolParam:
		s["type"] = "boolean"
	case EnumParam:
		s["enum"] = p.Values
	case TextParam:
		s["maxLength"] = maxParamText
	}
	switch n, err := strconv.Atoi(p.Def); {
	case p.Kind == IntParam && err == nil:
		s["default"] = n
	case p.Kind == BoolParam && p.Def != "":
		s["default"] = p.Def == "true"
	case p.Def != "":
		s["default"] = p.Def
	}
	return s
}

// StatusWord is a response's name in the documentation page.
func StatusWord(code int) string { return strconv.Itoa(code) + " " + http.StatusText(code) }

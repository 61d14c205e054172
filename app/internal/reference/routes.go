package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A description is what the pages tell of an OpenAPI document.
type description struct {
	Paths map[string]map[string]operation
	Tags  []struct{ Name, Description string }

	Components struct {
		Schemas   map[string]*schema
		Responses map[string]response
	}
}

type operation struct {
	Summary, Description string
	Tags                 []string
	Role                 string `json:"x-role"`
	Security             []map[string]any
	Parameters           []parameter
	RequestBody          *struct{ Content map[string]media }
	Responses            map[string]response
}

type parameter struct {
	Name, In, Description string
	Required              bool
	Schema                *schema
}

type media struct {
	Schema  *schema
	Example json.RawMessage
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]media
}

// Routes returns the page of the HTTP API and that of the objects in its bodies, from what the server says
// of itself.
func Routes(openapi []byte) (routes, objects []byte, err error) {
	var d description
	if err := json.Unmarshal(openapi, &d); err != nil {
		return nil, nil, err
	}
	p := newPage("HTTP API")
	p.line("Every route of the server. [Clients](../api.md) is the guide: how to log in, page through lists, send a request again, and follow events. Bodies and answers are JSON; their members are in [objects](objects.md). " +
		"The server says the same at `/openapi.json`, and its API console, `/docs/api`, tries each path.\n")
	p.line("In the examples `$POSTHOUSE` is the server's address, and `$TOKEN` an access token. A **role** is the weakest that may: `viewer` reads, `approver` also decides, `operator` does everything; a `worker` handles tasks and reads nothing.\n")
	p.refusals(&d)
	var rows [][]string
	for _, t := range d.Tags {
		if t.Name != "pages" {
			rows = append(rows, []string{"[" + t.Name + "](#" + anchorOf(t.Name) + ")", prose(lowered(t.Description))})
		}
	}
	p.line("## Groups\n")
	p.table([]string{"Group", ""}, rows)
	for _, t := range d.Tags {
		p.tag(&d, t.Name, t.Description)
	}
	return p.bytes(), objectsPage(&d), nil
}

// refusals writes the answers that routes share.
func (p *page) refusals(d *description) {
	p.line("## Answers of all\n\nWhatever fails is a [Problem](objects.md#problem) with a `code` of [errors](../errors.md), as `application/problem+json`. A route names the statuses it refuses a request with; any may answer 500 and above.\n")
	status := map[string]string{}
	for _, ops := range d.Paths {
		for _, o := range ops {
			for s, r := range o.Responses {
				if name, ok := strings.CutPrefix(r.Ref, "#/components/responses/"); ok && s != "default" {
					status[s] = d.Components.Responses[name].Description
				}
			}
		}
	}
	var rows [][]string
	for _, s := range slices.Sorted(maps.Keys(status)) {
		rows = append(rows, []string{s, prose(lowered(status[s]))})
	}
	p.table([]string{"Status", "Meaning"}, rows)
}

// methods are in the order in which they are shown.
var methods = []string{"get", "put", "post", "delete"}

// tag writes the routes of a group: a list, then each. Those of pages are only listed.
func (p *page) tag(d *description, name, about string) {
	title := strings.ToUpper(name[:1]) + name[1:]
	p.line("## %s\n\n%s\n", title, sentence(prose(about)))
	var rows [][]string
	var each []func()
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range methods {
			o, ok := d.Paths[path][method]
			if !ok || o.Tags[0] != name || name == "pages" && strings.Contains(path, ".") {
				continue // files of pages are no calls
			}
			call := strings.ToUpper(method) + " " + path
			link := "[`" + call + "`](#" + anchorOf(call) + ")"
			if name == "pages" {
				link = tick(call)
			}
			rows = append(rows, []string{link, prose(lowered(o.Summary)), o.role()})
			each = append(each, func() { p.route(d, call, method, path, &o) })
		}
	}
	p.table([]string{"Route", "", "Role"}, rows)
	if name == "pages" {
		return
	}
	for _, write := range each {
		write()
	}
}

// role says who may.
func (o *operation) role() string {
	switch {
	case o.Role != "":
		return o.Role
	case len(o.Security) > 0:
		return "an approval token"
	}
	return "anyone"
}

func (p *page) route(d *description, call, method, path string, o *operation) {
	p.line("### %s\n\n%s Role: %s.\n", strings.NewReplacer("{", `\{`, "}", `\}`).Replace(call), sentence(prose(o.Summary)), o.role())
	if o.Description != "" {
		p.line("%s\n", prose(o.Description))
	}
	var rows [][]string
	for _, a := range o.Parameters {
		about := prose(a.Description)
		if a.In == "path" {
			about = "in the path"
		}
		if a.Name == "Idempotency-Key" {
			about = "names the request, so that it may be [sent again](../api.md)"
		}
		rows = append(rows, []string{tick(a.Name), a.Schema.kind(), def(a.Schema), about})
	}
	p.table([]string{"Parameter", "Type", "Default", "Meaning"}, rows)
	p.requestBody(d, o)
	p.answers(o)
	p.code("sh", curl(d, method, path, o))
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if ex := o.Responses[status].Content["application/json"].Example; ex != nil {
			p.code("json", indented(ex))
			return
		}
	}
}

func def(s *schema) string {
	if s == nil || s.Default == nil {
		return ""
	}
	return tick(fmt.Sprint(s.Default))
}

func (p *page) requestBody(d *description, o *operation) {
	if o.RequestBody == nil {
		return
	}
	body := o.RequestBody.Content["application/json"].Schema
	also := []string{}
	for _, m := range slices.Sorted(maps.Keys(o.RequestBody.Content)) {
		if m != "application/json" {
			also = append(also, tick(m))
		}
	}
	kinds := strings.Join(also, ", ")
	switch {
	case body == nil:
		p.line("**Body:** %s.\n", kinds)
		return
	case len(also) > 0:
		p.line("**Body:** %s, or a patch: %s.\n", body.kind(), kinds)
	default:
		p.line("**Body:** %s.\n", body.kind())
	}
	p.members(d.resolve(body))
}

// answers writes what a route says where it does what was asked, and how it refuses.
func (p *page) answers(o *operation) {
	var rows [][]string
	var refused []string
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		r := o.Responses[status]
		if r.Ref != "" {
			if status != "default" {
				refused = append(refused, status)
			}
			continue
		}
		var kinds []string
		for _, m := range slices.Sorted(maps.Keys(r.Content)) {
			kind := r.Content[m].Schema.kind()
			if m != "application/json" || kind == "" {
				kind = strings.TrimSpace(tick(m) + " " + kind)
			}
			kinds = append(kinds, kind)
		}
		rows = append(rows, []string{status, strings.Join(kinds, " or "), prose(r.Description)})
	}
	p.table([]string{"Answer", "Body", ""}, rows)
	if len(refused) > 0 {
		p.line("Refused with [%s](#answers-of-all).\n", strings.Join(refused, ", "))
	}
}

// curl is a call of a route, with the body of its example.
func curl(d *description, method, path string, o *operation) string {
	var b strings.Builder
	b.WriteString("curl")
	if method != "get" {
		b.WriteString(" -X " + strings.ToUpper(method))
	}
	fill := strings.NewReplacer("{id}", "ID", "{thread}", "THREAD", "{program}", "PROGRAM", "{agent}", "AGENT", "{version}", "VERSION", "{signal}", "SIGNAL", "{name}", "NAME")
	b.WriteString(` "$POSTHOUSE` + fill.Replace(path) + `"`)
	switch {
	case o.Role != "":
		b.WriteString(` -H "Authorization: Bearer $TOKEN"`)
	case len(o.Security) > 0:
		b.WriteString(` -H "Authorization: Bearer $APPROVAL_TOKEN"`)
	}
	if o.RequestBody == nil {
		return b.String()
	}
	m, ok := o.RequestBody.Content["application/json"]
	if !ok {
		return b.String()
	}
	body := m.Example
	if body == nil {
		body = []byte(d.sample(m.Schema, 0))
	}
	var small bytes.Buffer
	if json.Compact(&small, body) != nil {
		return b.String()
	}
	return b.String() + " -H 'Content-Type: application/json' \\\n  -d '" + strings.ReplaceAll(small.String(), "'", `'\''`) + "'"
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return cmp.Or(b.String(), "{}")
}

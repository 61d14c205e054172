package reference

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// A schema is JSON Schema, as far as the server's description uses it.
type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Format, Description  string
	Default              any
	Enum                 []any
	Items                *schema
	Properties           map[string]*schema
	Required             []string
	AdditionalProperties json.RawMessage
	ContentEncoding      string
}

const schemaPath = "#/components/schemas/"

// kind names what a value is, with a link to the object that it is.
func (s *schema) kind() string {
	if s == nil {
		return ""
	}
	if name, ok := strings.CutPrefix(s.Ref, schemaPath); ok {
		return "[" + name + "](objects.md#" + anchorOf(name) + ")"
	}
	if len(s.Enum) > 0 {
		var all []string
		for _, v := range s.Enum {
			if text, ok := v.(string); ok && text != "" {
				all = append(all, tick(text))
			}
		}
		return strings.Join(all, ", ")
	}
	types := []string{}
	switch t := s.Type.(type) {
	case string:
		types = append(types, t)
	case []any:
		for _, one := range t {
			if text, ok := one.(string); ok && text != "null" {
				types = append(types, text)
			}
		}
	}
	kind := strings.Join(types, " or ")
	switch {
	case kind == "array" && s.Items != nil:
		return "list of " + s.Items.kind()
	case kind == "object" && len(s.AdditionalProperties) > 1:
		var of schema
		if json.Unmarshal(s.AdditionalProperties, &of) == nil && of.kind() != "" {
			return "names with " + of.kind()
		}
	case s.Format == "date-time":
		return "time"
	case s.ContentEncoding != "":
		return s.ContentEncoding
	case kind == "":
		return "any JSON"
	}
	return kind
}

// resolve returns the object that a schema refers to.
func (d *description) resolve(s *schema) *schema {
	if name, ok := strings.CutPrefix(s.Ref, schemaPath); ok {
		return d.Components.Schemas[name]
	}
	return s
}

// members writes what an object has.
func (p *page) members(s *schema) {
	if s == nil {
		return
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		m := s.Properties[name]
		about := prose(m.Description)
		if slices.Contains(s.Required, name) {
			about = strings.TrimPrefix(about+"; always there", "; ")
		}
		rows = append(rows, []string{tick(name), m.kind(), about})
	}
	p.table([]string{"Member", "Type", "Meaning"}, rows)
}

// objectsPage returns the page of all objects.
func objectsPage(d *description) []byte {
	p := newPage("Objects of the API")
	p.line("The members of the objects in bodies and answers of the [HTTP API](http.md), in the order of their names. A member that is empty is left out of an answer unless it is always there. Times are RFC 3339 in UTC.\n")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		p.line("## %s\n", name)
		if s.Description != "" {
			p.line("%s\n", sentence(prose(s.Description)))
		}
		if len(s.Properties) == 0 {
			p.line("It is %s.\n", s.kind())
		}
		p.members(s)
	}
	return p.bytes()
}

// sample is a body with the members that it must have, as deep as it is to be typed by hand.
func (d *description) sample(s *schema, depth int) string {
	if s == nil || depth > 3 {
		return "{}"
	}
	s = d.resolve(s)
	if len(s.Enum) > 0 {
		return marshaled(s.Enum[len(s.Enum)-1])
	}
	switch s.Type {
	case "object":
		var all []string
		for _, name := range s.Required {
			if m := s.Properties[name]; m != nil {
				all = append(all, marshaled(name)+":"+d.sample(m, depth+1))
			}
		}
		return "{" + strings.Join(all, ",") + "}"
	case "array":
		return "[" + d.sample(s.Items, depth+1) + "]"
	case "integer", "number":
		return "1"
	case "boolean":
		return "true"
	case "string":
		if s.Format == "date-time" {
			return `"2026-11-26T12:00:00Z"`
		}
		return `"…"`
	}
	return "{}"
}

func marshaled(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}"
	}
	return string(b)
}

package notify

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
)

// gateOf returns a gate as receivers see it. base is the address of the pages, or empty.
func gateOf(g *posthouse.Gate, base string) *Gate {
	v := &Gate{
		ID: g.ID, Name: g.Name, Kind: g.Kind, Intent: Intent(g), Text: clip(g.Text, MaxContent),
		Verdicts: g.Verdicts, Assignees: g.Assignees, RequestedBy: g.RequestedBy,
		Labels: g.Labels, CreatedAt: g.CreatedAt, ExpiresAt: g.ExpiresAt, Shown: g.Hash, Supersedes: g.Supersedes,
	}
	if v.Kind == "" {
		v.Kind = posthouse.GateApproval
	}
	if len(g.Payload) <= MaxContent {
		v.Payload, v.Fields = g.Payload, Fields(g)
	}
	if base != "" {
		v.Link = strings.TrimSuffix(base, "/") + "/gates/" + url.PathEscape(string(g.ID))
	}
	return v
}

// Shown returns a gate as receivers see it, without a link.
func Shown(g *posthouse.Gate) *Gate { return gateOf(g, "") }

// Intent returns what a question asks, in one sentence: the first line of its text, or its name.
func Intent(g *posthouse.Gate) string {
	for line := range strings.Lines(g.Text) {
		line = strings.TrimSpace(line)
		if line != "" {
			return clip(line, 1000)
		}
	}
	return g.Name
}

// Fields returns the members of a question's payload, in their order and as on record. A payload
// that is no object has no members.
func Fields(g *posthouse.Gate) (fields []Field) {
	dec := json.NewDecoder(bytes.NewReader(g.Payload))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil
		}
		f := Field{}
		f.Name, _ = name.(string)
		if dec.Decode(&f.Value) != nil {
			return nil
		}
		fields = append(fields, f)
	}
	return fields
}

// clip cuts a text to n bytes at most, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

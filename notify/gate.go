package notify

import (
	"net/url"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
)

// gateOf returns a gate as receivers see it. base is the address of the pages, or empty.
func gateOf(g *posthouse.Gate, base string) *Gate {
	v := &Gate{
		ID: g.ID, Name: g.Name, Kind: g.Kind, Intent: clip(gate.Intent(g), 1000), Text: clip(g.Text, MaxContent),
		Verdicts: g.Verdicts, Terms: gate.Terms(g), Assignees: g.Assignees, RequestedBy: g.RequestedBy,
		Labels: g.Labels, CreatedAt: g.CreatedAt, ExpiresAt: g.ExpiresAt, Shown: g.Hash, Supersedes: g.Supersedes,
	}
	if v.Kind == "" {
		v.Kind = posthouse.GateApproval
	}
	v.Partial = len(g.Text) > MaxContent || len(g.Payload) > MaxContent
	if len(g.Payload) <= MaxContent {
		v.Payload, v.Fields = g.Payload, gate.Binding(g)
	}
	if g.AsksPeople() {
		v.Answers = g.Answers()
	}
	v.Link = pageOf(base, g.ID)
	return v
}

// pageOf returns the address of a gate's page, "" where base is empty.
func pageOf(base string, id posthouse.ID) string {
	if base == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + "/gates/" + url.PathEscape(string(id))
}

// Shown returns a gate as receivers see it, without a link, and whole: who decides by it sees all
// that the decision counts for, however large it is.
func Shown(g *posthouse.Gate) *Gate {
	v := gateOf(g, "")
	v.Partial = false
	v.Text, v.Payload, v.Fields = g.Text, g.Payload, gate.Binding(g)
	return v
}

// clip cuts a text to n bytes at most, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

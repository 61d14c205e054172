package diff

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

// The ways in which a part, or a value within one, differs.
const (
	DiffAdded   = "added"
	DiffRemoved = "removed"
	DiffChanged = "changed"
)

// A Comparison says how checkpoint B differs from checkpoint A.
type Comparison struct {
	A        posthouse.ID  `json:"a"`
	B        posthouse.ID  `json:"b"`
	Ancestor posthouse.ID  `json:"ancestor,omitempty"` // the newest common ancestor, across forks and copies; may be ""
	Fields   []FieldChange `json:"fields"`             // of the headers
	Parts    []PartChange  `json:"parts"`              // the parts that differ, by name; the metadata is "$meta"
}

// A FieldChange is a field of the header that differs, as text.
type FieldChange struct {
	Name string `json:"name"` // as in JSON
	A    string `json:"a,omitempty"`
	B    string `json:"b,omitempty"`
}

// A PartChange is a part of the state that differs.
type PartChange struct {
	Name   string       `json:"name"`
	Change string       `json:"change"` // [DiffAdded], [DiffRemoved] or [DiffChanged]
	A      *PartSide    `json:"a,omitempty"`
	B      *PartSide    `json:"b,omitempty"`
	Paths  []PathChange `json:"paths,omitempty"` // what changed within JSON, at most 1,000 of them
	More   int          `json:"more,omitempty"`  // changes beyond those
}

// A PartSide is a part in one of the two checkpoints.
type PartSide struct {
	Codec string          `json:"codec"`
	Size  int             `json:"size"` // bytes
	Hash  posthouse.Hash  `json:"hash"`
	Value json.RawMessage `json:"value,omitempty"` // JSON as it is, text of other codecs as a string; empty above 64 KiB
}

// A PathChange is a change within a JSON value. Elements of lists are matched from both
// ends, so an appended element is one addition.
type PathChange struct {
	Path   string          `json:"path"`   // JSON pointer, empty for the whole value
	Change string          `json:"change"` // [DiffAdded], [DiffRemoved] or [DiffChanged]
	A      json.RawMessage `json:"a,omitempty"`
	B      json.RawMessage `json:"b,omitempty"`
}

const (
	maxShown = 64 << 10
	maxPaths = 1000
)

// Compare says how checkpoint b differs from a. They may be of different threads and of
// released versions. It fails with [posthouse.ErrNotFound].
func Compare(ctx context.Context, led *ledger.Ledger, a, b posthouse.ID) (*Comparison, error) {
	l := led.Core()
	ca, err := l.Get(ctx, a)
	if err != nil {
		return nil, err
	}
	cb, err := l.Get(ctx, b)
	if err != nil {
		return nil, err
	}
	c := States(ca, cb)
	c.Ancestor, err = ancestor(ctx, l.Core, &ca.Header, &cb.Header)
	return c, err
}

// States is [Compare] for checkpoints in memory, without their ancestor.
func States(a, b *posthouse.Checkpoint) *Comparison {
	c := &Comparison{A: a.ID, B: b.ID, Fields: compareFields(&a.Header, &b.Header), Parts: []PartChange{}}
	sa, sb := withMetadata(a), withMetadata(b)
	names := maps.Clone(sa)
	maps.Copy(names, sb)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		va, inA := sa[name]
		vb, inB := sb[name]
		p := PartChange{Name: name, Change: DiffChanged}
		if inA {
			p.A = side(va)
		} else {
			p.Change = DiffAdded
		}
		if inB {
			p.B = side(vb)
		} else {
			p.Change = DiffRemoved
		}
		if p.Change == DiffChanged {
			if va.Codec == vb.Codec && bytes.Equal(va.Data, vb.Data) {
				continue
			}
			p.Paths, p.More = comparePaths(va, vb)
		}
		c.Parts = append(c.Parts, p)
	}
	return c
}

func withMetadata(c *posthouse.Checkpoint) posthouse.State {
	s := maps.Clone(c.State)
	if s == nil {
		s = posthouse.State{}
	}
	if len(c.Metadata) > 0 {
		data, err := json.Marshal(c.Metadata)
		if err != nil {
			panic("posthouse: a map of strings does not encode: " + err.Error())
		}
		s[posthouse.MetaPart] = posthouse.Value{Codec: posthouse.JSON.Name(), Data: data}
	}
	return s
}

func compareFields(a, b *posthouse.Header) []FieldChange {
	out := []FieldChange{}
	for _, f := range []FieldChange{
		{"thread", a.Thread, b.Thread}, {"branch", a.Branch, b.Branch}, {"coordinationId", a.Coordination, b.Coordination},
		{"kind", a.Kind, b.Kind}, {"status", string(a.Status), string(b.Status)}, {"graph", a.Graph, b.Graph},
		{"fingerprint", a.Fingerprint, b.Fingerprint}, {"node", a.Node, b.Node}, {"agentName", a.Agent, b.Agent},
		{"next", strings.Join(a.Next, ", "), strings.Join(b.Next, ", ")}, {"error", a.Error, b.Error},
		{"labels", labelText(a.Labels), labelText(b.Labels)},
	} {
		if f.A != f.B {
			out = append(out, f)
		}
	}
	return out
}

func labelText(labels map[string]string) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ", ")
}

func side(v posthouse.Value) *PartSide {
	s := &PartSide{Codec: v.Codec, Size: len(v.Data), Hash: sha256.Sum256(v.Data)}
	switch {
	case len(v.Data) > maxShown:
	case v.Codec == posthouse.JSON.Name() && json.Valid(v.Data):
		s.Value = bytes.Clone(v.Data)
	case utf8.Valid(v.Data):
		s.Value = shown(string(v.Data))
	}
	return s
}

// shown encodes a value for people to read: it does not escape characters for HTML.
func shown(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null") // cannot happen: the value was decoded from JSON
	}
	return bytes.TrimSpace(b.Bytes())
}

package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/posthouse/posthouse"
)

// A Comparison says how one checkpoint differs from another.
type Comparison struct {
	A        posthouse.ID  `json:"a"`
	B        posthouse.ID  `json:"b"`
	Ancestor posthouse.ID  `json:"ancestor,omitempty"` // the newest that both derive from; "" if there is no such checkpoint
	Fields   []FieldChange `json:"fields"`             // of the headers
	Parts    []PartChange  `json:"parts"`              // the parts that differ, by name; the metadata is "$meta"
}

// A FieldChange is a field of the header that differs, as text.
type FieldChange struct {
	Name string `json:"name"`
	A    string `json:"a,omitempty"`
	B    string `json:"b,omitempty"`
}

// A PartChange is a part of the state that differs.
type PartChange struct {
	Name   string       `json:"name"`
	Change string       `json:"change"` // added, removed or changed
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
	Value json.RawMessage `json:"value,omitempty"` // absent above 64 KiB
}

// A PathChange is a change within a JSON value.
type PathChange struct {
	Path   string          `json:"path"`   // JSON pointer; "" is the whole value
	Change string          `json:"change"` // added, removed or changed
	A      json.RawMessage `json:"a,omitempty"`
	B      json.RawMessage `json:"b,omitempty"`
}

// Compare says how checkpoint b differs from a. They may be of different threads.
// [posthouse.ErrNotFound].
func Compare(ctx context.Context, c *Client, a, b posthouse.ID) (*Comparison, error) {
	d := new(Comparison)
	return d, c.ask(ctx, http.MethodGet, "/api/diff", given("a", string(a), "b", string(b)), nil, d)
}

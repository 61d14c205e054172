package posthouse

import (
	"bytes"
	"encoding/json"

	"github.com/posthouse/posthouse/internal/base/canon"
	"github.com/posthouse/posthouse/internal/base/strictjson"
)

// Domains of the digests of what a question shows.
const (
	domainContent = "posthouse/content/1"
	domainSalted  = "posthouse/content/salted/1"
)

// SaltSize is the length of the random bytes in a gate's body that its digest covers.
// Without them, a content that can be guessed could be found by its digest.
const SaltSize = 16

// A Binding says which later questions a recorded answer serves.
type Binding string

// The bindings.
const (
	ByContent Binding = ""     // a question of the same name, text and payload
	ByName    Binding = "name" // any question of the name; such an answer licenses no effect
)

// Content returns the digest of what the gate shows: its name, text and payload as
// canonical JSON. Two gates with the same digest ask the same. Times, assignees, labels
// and the rule are not part of it. The content of a gate that is bound [ByName] is its
// name.
func (g *Gate) Content() Hash {
	if g.Bind == ByName {
		return canon.Hash(domainContent, []byte(g.Bind), []byte(g.Name))
	}
	payload := g.Payload
	if c, err := CanonicalJSON(payload); err == nil {
		payload = c
	}
	return canon.Hash(domainContent, nil, []byte(g.Name), []byte(g.Text), payload)
}

// Digested reports whether the gate's header has the digest of its content. Gates of
// earlier versions do not: theirs is computed from the body, and the body's text may
// end with a note.
func (g *Gate) Digested() bool { return len(g.Record.Salt) > 0 }

// Digest returns the digest of the content as the header has it.
func (g *Gate) Digest() Hash {
	if len(g.Record.Salt) == 0 {
		return Hash{}
	}
	content := g.Content()
	return canon.Hash(domainSalted, g.Record.Salt, content[:])
}

// CanonicalJSON returns data with sorted keys, no spaces and one spelling of each
// string. Numbers keep their digits, and nil stays nil. [ErrInvalid] if data is not one
// JSON value or has a key twice.
func CanonicalJSON(data json.RawMessage) (json.RawMessage, error) {
	if len(data) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	out, err := strictjson.AppendCanonical(nil, d)
	if err != nil {
		return nil, &Error{Code: CodeInvalid, Field: "json", Message: "is not one JSON value", Err: err}
	}
	if d.InputOffset() < int64(len(bytes.TrimRight(data, " \t\r\n"))) {
		return nil, Invalid("json", "has something behind its value")
	}
	return out, nil
}

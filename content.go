package posthouse

import (
	"bytes"
	"encoding/json"

	"github.com/posthouse/posthouse/internal/canon"
	"github.com/posthouse/posthouse/internal/strictjson"
)

// Domains of the digests of what a question shows.
const (
	domainContent = "posthouse/content/1"
	domainSalted  = "posthouse/content/salted/1"
)

// SaltSize is how many random bytes a gate's body begins its digest with. Without
// them a content that can be guessed would be found by its digest.
const SaltSize = 16

// A Binding says what a recorded answer is good for.
type Binding string

// The bindings.
const (
	ByContent Binding = ""     // for a question of the same name, text and payload
	ByName    Binding = "name" // for any question of the name; such an answer licenses no effect
)

// Content returns the digest of what the gate shows: its name, its text and its
// payload as canonical JSON, as the program gave them. Two gates with the same
// digest ask the same. Times, assignees, labels and the rule are not part of it.
// A gate that is bound [ByName] has its name as its content.
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

// Digested reports whether the digest of the gate's content is on record in its
// header. Gates that earlier versions opened have none: theirs is computed from
// the body, whose text may end with a note.
func (g *Gate) Digested() bool { return len(g.Record.Salt) > 0 }

// Digest returns what the header says of the content.
func (g *Gate) Digest() Hash {
	if len(g.Record.Salt) == 0 {
		return Hash{}
	}
	content := g.Content()
	return canon.Hash(domainSalted, g.Record.Salt, content[:])
}

// CanonicalJSON returns data with the keys of each object sorted, without spaces
// and with strings in one spelling; numbers stay digit by digit as they are. Nil
// stays nil. [ErrInvalid] if data is not one JSON value or has a key twice.
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

package gate

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// MaxSchema is the largest schema of a question, in bytes.
const MaxSchema = 64 << 10

// maxCompiled bounds how many compiled schemas a [Validator] keeps.
const maxCompiled = 64

// A SchemaError says where a value breaks its schema. It matches
// [posthouse.ErrInvalid].
type SchemaError struct {
	Path   string // within the value, as in "lines[].price"; "" is the value itself
	Reason string // at most 300 bytes
}

// Error returns the path and the reason.
func (e *SchemaError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return "at " + e.Path + ": " + e.Reason
}

// Is matches [posthouse.ErrInvalid].
func (e *SchemaError) Is(target error) bool { return target == posthouse.ErrInvalid }

// Validator returns a function for [ledger.Options].Validate. It checks JSON
// against JSON Schema 2020-12 or draft 7 and keeps the schemas it compiled most
// recently. It is safe for concurrent use. References must stay within the
// schema; "format" is not checked. Errors are [SchemaError] for the value and
// [posthouse.ErrInvalid] for the schema.
func Validator() posthouse.SchemaValidator {
	c := &cache{compiled: map[[32]byte]*jsonschema.Resolved{}}
	return func(schema, value json.RawMessage) error {
		s, err := c.get(schema)
		if err != nil {
			return err
		}
		return check(s, value)
	}
}

// ValidateJSON checks one value like a [Validator] that keeps nothing.
func ValidateJSON(schema, value json.RawMessage) error {
	s, err := compile(schema)
	if err != nil {
		return err
	}
	return check(s, value)
}

// A cache holds compiled schemas by the hash of their text. When it is full the
// oldest goes.
type cache struct {
	mu       sync.Mutex
	compiled map[[32]byte]*jsonschema.Resolved
	order    [][32]byte
}

func (c *cache) get(schema json.RawMessage) (*jsonschema.Resolved, error) {
	key := sha256.Sum256(schema)
	c.mu.Lock()
	s := c.compiled[key]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := compile(schema)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.compiled[key] == nil {
		if len(c.order) == maxCompiled {
			delete(c.compiled, c.order[0])
			c.order = c.order[1:]
		}
		c.compiled[key], c.order = s, append(c.order, key)
	}
	return s, nil
}

func compile(schema json.RawMessage) (*jsonschema.Resolved, error) {
	bad := func(err error) error {
		return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "schema", Message: "is not a JSON Schema that can be checked", Err: err}
	}
	if len(schema) > MaxSchema {
		return nil, posthouse.Invalid("schema", "is %d bytes; the limit is %d", len(schema), MaxSchema)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, bad(err)
	}
	read, err := json.Marshal(&s) // as the validator understood it: it takes "$REF" for "$ref"
	if err != nil {
		return nil, bad(err)
	}
	if err := checkReferences(read); err != nil {
		return nil, bad(err)
	}
	var resolved *jsonschema.Resolved
	err = engine.Guard(func() (err error) {
		resolved, err = s.Resolve(nil)
		return err
	})
	if err != nil {
		return nil, bad(err)
	}
	return resolved, nil
}

func check(s *jsonschema.Resolved, value json.RawMessage) error {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return &SchemaError{Reason: "not valid JSON: " + err.Error()}
	}
	err := engine.Guard(func() error { return s.Validate(v) })
	if err == nil {
		return nil
	}
	return explain(err)
}

// explain turns the validator's error, a chain of schemas, into a path within the value.
func explain(err error) *SchemaError {
	const maxReason = 300
	var path strings.Builder
	last := ""
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		at, ok := strings.CutPrefix(strings.TrimSuffix(err.Error(), ": "+inner.Error()), "validating ")
		if !ok {
			break
		}
		if at == "root" {
			at = ""
		}
		if down, ok := strings.CutPrefix(at, last); ok {
			step(&path, strings.TrimPrefix(down, "/"))
		}
		last, err = at, inner
	}
	reason := nulls.Replace(strings.ToValidUTF8(err.Error(), "?"))
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason-3], "") + "..."
	}
	return &SchemaError{Path: strings.TrimPrefix(path.String(), "."), Reason: reason}
}

// nulls undoes how the validator prints a null, alone and inside a value.
var nulls = strings.NewReplacer("<invalid reflect.Value>", "null", "<nil>", "null")

// step adds to path the place in the value that a keyword of a schema stands for. Most
// keywords stand for the same place.
func step(path *strings.Builder, down string) {
	keyword, name, _ := strings.Cut(down, "/")
	switch keyword {
	case "properties":
		path.WriteString("." + unescape(name))
	case "additionalProperties", "patternProperties", "unevaluatedProperties":
		path.WriteString(".*")
	case "prefixItems":
		path.WriteString("[" + name + "]")
	case "items", "additionalItems", "unevaluatedItems", "contains":
		path.WriteString("[]")
	}
}

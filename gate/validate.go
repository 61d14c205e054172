package gate

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate/internal/schema"
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
// recently. It is safe for concurrent use. It bounds the cost of a schema, see
// docs/approvals.md, and compares numbers exactly. References must stay within the schema;
// "format" is checked for the widths of whole numbers alone (int64, uint8). Errors are [SchemaError] for the value and
// [posthouse.ErrInvalid] for the schema.
func Validator() posthouse.SchemaValidator {
	c := &cache{compiled: map[[32]byte]*schema.Schema{}}
	return func(text, value json.RawMessage) error {
		s, err := c.get(text)
		if err != nil {
			return err
		}
		return check(s, value)
	}
}

// ValidateJSON checks one value like a [Validator] that keeps nothing.
func ValidateJSON(text, value json.RawMessage) error {
	s, err := compile(text)
	if err != nil {
		return err
	}
	return check(s, value)
}

// A cache holds compiled schemas by the hash of their text. When it is full the
// oldest goes.
type cache struct {
	mu       sync.Mutex
	compiled map[[32]byte]*schema.Schema
	order    [][32]byte
}

func (c *cache) get(text json.RawMessage) (*schema.Schema, error) {
	key := sha256.Sum256(text)
	c.mu.Lock()
	s := c.compiled[key]
	c.mu.Unlock()
	if s != nil {
		return s, nil
	}
	s, err := compile(text)
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

func compile(text json.RawMessage) (*schema.Schema, error) {
	if len(text) > MaxSchema {
		return nil, posthouse.Invalid("schema", "is %d bytes; the limit is %d", len(text), MaxSchema)
	}
	s, err := schema.Compile(text)
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "schema", Message: "is not a JSON Schema that can be checked", Err: err}
	}
	return s, nil
}

func check(s *schema.Schema, value json.RawMessage) error {
	err := s.Check(value)
	if f, ok := errors.AsType[*schema.Failure](err); ok {
		return explain(f)
	}
	if err != nil {
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "value", Message: "takes too many steps to be checked against the schema", Err: err,
			Hint: "approve or reject it, or answer with a smaller value; a schema without alternatives within alternatives is cheap",
		}
	}
	return nil
}

// explain makes the error of a value that breaks its schema.
func explain(f *schema.Failure) *SchemaError {
	const maxReason = 300
	reason := strings.ToValidUTF8(f.Reason, "?")
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason-3], "") + "..."
	}
	return &SchemaError{Path: f.Path, Reason: reason}
}

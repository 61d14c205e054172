package posthouse

import (
	"bytes"
	"encoding/json"
	"maps"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/base/strictjson"
)

// A Value is one encoded part of a state: bytes, and the name of the codec that wrote
// them. No type is stored.
type Value struct {
	Codec string `json:"codec"`
	Data  []byte `json:"data"`
}

// State is a checkpoint's state: named parts. An opaque state is one part
// called [OpaquePart].
type State map[string]Value

// OpaquePart is the name of the one part of an opaque state.
const OpaquePart = "state"

// Clone returns a deep copy.
func (s State) Clone() State {
	c := maps.Clone(s)
	for name, v := range c {
		c[name] = Value{v.Codec, bytes.Clone(v.Data)}
	}
	return c
}

// A Codec turns Go values into bytes and back. Decoding gets its target from the
// caller, and must not build types that the bytes name.
type Codec interface {
	Name() string // stored with each value, 1 to 32 bytes of [a-z0-9.+-]
	Marshal(v any) ([]byte, error)
	Unmarshal(data []byte, v any) error
}

// JSON is the default codec, named "json". It refuses invalid UTF-8, which
// encoding/json would replace silently, and nesting deeper than [MaxDepth]. In a
// json.RawMessage it also refuses repeated names and half surrogate pairs, but not in
// one inside another value.
var JSON Codec = jsonCodec{}

// Raw is the codec "raw": the value is a []byte or a string, stored as it is.
var Raw Codec = rawCodec{}

// MaxDepth is the deepest nesting of accepted JSON.
const MaxDepth = 128

type jsonCodec struct{}

func (jsonCodec) Name() string { return "json" }

func (jsonCodec) Marshal(v any) ([]byte, error) {
	if data, ok := strictjson.MarshalPlain(v); ok {
		return data, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, &Error{Code: CodeInvalid, Field: "value", Message: "cannot be encoded as JSON", Err: err}
	}
	if strictjson.ReplacedUTF8(data) {
		return nil, Invalid("value", "has a string that is not valid UTF-8; use the raw codec or []byte for binary data")
	}
	if err := checkDepth("value", data); err != nil {
		return nil, err
	}
	switch v.(type) {
	case json.RawMessage, *json.RawMessage: // encoding/json takes these as they are
		return data, checkAlike("value", data)
	}
	return data, nil
}

func (jsonCodec) Unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return &Error{Code: CodeInvalid, Field: "value", Message: "does not decode as JSON", Err: err}
	}
	return nil
}

// CheckStrict checks JSON that is not on record yet. Beyond [CheckJSON] it refuses what
// readers take differently: repeated names in an object, half surrogate pairs.
func CheckStrict(field string, data []byte) error {
	if err := CheckJSON(field, data); err != nil {
		return err
	}
	return checkAlike(field, data)
}

func checkAlike(field string, data []byte) error {
	if name, twice := strictjson.Twice(data); twice {
		return Invalid(field, "has the name %.40q twice in one object: readers would take different ones", name)
	}
	if at := strictjson.Surrogate(data); at >= 0 {
		return Invalid(field, "has half a surrogate pair at byte %d: no such character exists", at)
	}
	return nil
}

// CheckJSON checks JSON that came from outside.
func CheckJSON(field string, data []byte) error {
	if !utf8.Valid(data) {
		return Invalid(field, "is not valid UTF-8")
	}
	if err := checkDepth(field, data); err != nil {
		return err
	}
	if !json.Valid(data) {
		return Invalid(field, "is not valid JSON")
	}
	return nil
}

func checkDepth(field string, data []byte) error {
	if strictjson.Deeper(data, MaxDepth) {
		return Invalid(field, "nests deeper than %d levels", MaxDepth)
	}
	return nil
}

type rawCodec struct{}

func (rawCodec) Name() string { return "raw" }

func (rawCodec) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case []byte:
		return bytes.Clone(v), nil
	case string:
		return []byte(v), nil
	}
	return nil, Invalid("value", "is a %T; the raw codec takes []byte or string", v)
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	switch v := v.(type) {
	case *[]byte:
		*v = bytes.Clone(data)
	case *string:
		*v = string(data)
	default:
		return Invalid("value", "is read into a %T; the raw codec takes *[]byte or *string", v)
	}
	return nil
}

// Encode encodes v with the codec; nil is [JSON]. It returns the codec's errors, which
// are [ErrInvalid] for JSON and [Raw].
func Encode(c Codec, v any) (Value, error) {
	if c == nil {
		c = JSON
	}
	data, err := c.Marshal(v)
	return Value{c.Name(), data}, err
}

// Decode decodes a value into a T. Without codecs it knows "json" and "raw".
// [ErrInvalid] names any other codec, and says so of the zero Value, which is an absent
// part. Errors of the codec are returned as they are.
func Decode[T any](v Value, codecs ...Codec) (T, error) {
	var t T
	for _, c := range append(codecs, JSON, Raw) {
		if c.Name() == v.Codec {
			return t, c.Unmarshal(v.Data, &t)
		}
	}
	if v.Codec == "" && len(v.Data) == 0 {
		return t, &Error{
			Code: CodeInvalid, Field: "part", Message: "is not there: a zero Value was given, as a State has for a name without a part",
			Hint: "look at the names in the State; an opaque state's only part is OpaquePart",
		}
	}
	return t, Invalid("codec", "%q is not registered", v.Codec)
}

// Opaque returns a state of one part, encoded with the codec; nil is [JSON]. It fails
// as [Encode] does.
func Opaque(c Codec, v any) (State, error) {
	val, err := Encode(c, v)
	if err != nil {
		return nil, err
	}
	return State{OpaquePart: val}, nil
}

// Validate checks the codec's name and the content of a value that came from outside.
func (v Value) Validate(part string) error {
	if err := ValidateCodec(v.Codec, part); err != nil {
		return err
	}
	if v.Codec == "json" {
		return CheckStrict("part "+part, v.Data)
	}
	return nil
}

// ValidateCodec checks the name of a codec. The error says what it encodes.
func ValidateCodec(codec, of string) error {
	ok := codec != "" && len(codec) <= 32
	for i := 0; i < len(codec) && ok; i++ {
		c := codec[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '+' || c == '-'
	}
	if !ok {
		return Invalid("codec", "%.40q of %q must be 1 to 32 characters of a-z, 0-9, '.', '+' and '-'", codec, of)
	}
	return nil
}

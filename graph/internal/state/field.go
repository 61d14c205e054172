package state

import (
	"fmt"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/jsontype"
)

// An encodingRule says how the changes of a part are found.
type encodingRule uint8

const (
	byBits   encodingRule = iota // no maps, slices, pointers or interfaces: the same bits are the same value
	byBytes                      // encoded after each node; changed if the bytes are
	byAppend                     // only elements after the known ones are encoded
)

// A Field is a field of a state type and the part that it is stored as.
type Field struct {
	Part  string       // the name of the part
	Name  string       // the Go name
	Type  reflect.Type // the Go type
	Merge Rule

	index    []int // through embedded structs
	encoding encodingRule
	fn       func(base reflect.Value, writes []reflect.Value) (reflect.Value, error) // of Custom

	faithful bool // values equal what their encoding decodes to, see isFaithful; of an append part its elements do
	loose    bool // it holds interfaces: what is in them is known by its encoding only
	list     list // byAppend
}

// A list is what an append part stores: a slice, or the one in a Log.
type list struct {
	slice reflect.Type
	inLog bool // the field is a struct around the slice, see Options.IsLog
	deep  bool // elements hold more than their own bits
}

// of returns the slice of a field.
func (l *list) of(v reflect.Value) reflect.Value {
	if l.inLog {
		return reflect.NewAt(l.slice, v.Addr().UnsafePointer()).Elem() // its one field
	}
	return v
}

// stored returns the type that the part's encoding decodes into.
func (f *Field) stored() reflect.Type {
	if f.encoding == byAppend {
		return f.list.slice
	}
	return f.Type
}

// Appends reports whether the part is an append part: a list that only grows.
func (f *Field) Appends() bool { return f.encoding == byAppend }

// Fits returns why a stored value does not decode into the field, nil if it does. A key
// that the type does not have is a reason, at any depth: what it holds would be lost.
func (f *Field) Fits(codec posthouse.Codec, v posthouse.Value) error {
	return UnmarshalStrict(codec, v, f.stored())
}

// pointer returns what a codec encodes from and decodes into.
func (f *Field) pointer(state reflect.Value) any {
	v := state.FieldByIndex(f.index)
	if f.encoding == byAppend {
		v = f.list.of(v)
	}
	return v.Addr().Interface()
}

// Read decodes the state of a checkpoint into the zero state at ptr. Parts that the
// type does not have stay in the thread untouched; fields that the checkpoint does
// not have stay zero.
func (p *Schema) Read(c *posthouse.Checkpoint, ptr any) error {
	state := reflect.ValueOf(ptr).Elem()
	for i := range p.Fields {
		f := &p.Fields[i]
		v, ok := c.State[f.Part]
		if !ok {
			continue
		}
		if err := Unmarshal(p.Codec, v, f.pointer(state)); err != nil {
			return &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "state", Err: err,
				Message: fmt.Sprintf("part %q of checkpoint %s does not fit the field %s of type %s", f.Part, c.ID, f.Name, f.Type),
				Hint:    "give the field the type it had when the checkpoint was written, or another name",
			}
		}
	}
	return nil
}

// Unmarshal decodes a value of a codec. It accepts JSON whatever the codec is, since
// a person may have edited the state.
func Unmarshal(codec posthouse.Codec, v posthouse.Value, ptr any) error {
	switch v.Codec {
	case codec.Name():
		return codec.Unmarshal(v.Data, ptr)
	case posthouse.JSON.Name():
		return posthouse.JSON.Unmarshal(v.Data, ptr)
	}
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "codec", Message: fmt.Sprintf("%q is not the graph's codec", v.Codec)}
}

// UnmarshalStrict checks that a value decodes into a type. It refuses keys that the
// type does not have, too, since they would be lost.
func UnmarshalStrict(codec posthouse.Codec, v posthouse.Value, t reflect.Type) error {
	if err := Unmarshal(codec, v, reflect.New(t).Interface()); err != nil || v.Codec != posthouse.JSON.Name() {
		return err
	}
	if lost := jsontype.UnknownMember(v.Data, t); lost != "" {
		return posthouse.Invalid("value", "has the member %s, which type %s lacks", lost, t)
	}
	return nil
}

// Write encodes the parts of the state at ptr in full. It leaves out those that are
// zero and not on record.
func (p *Schema) Write(ptr any, recorded posthouse.State) ([]posthouse.Part, error) {
	state := reflect.ValueOf(ptr).Elem()
	parts := make([]posthouse.Part, 0, len(p.Fields))
	for i := range p.Fields {
		f := &p.Fields[i]
		if _, ok := recorded[f.Part]; !ok && isZero(state.FieldByIndex(f.index)) {
			continue
		}
		enc, err := f.encode(p.Codec, f.pointer(state))
		if err != nil {
			return nil, err
		}
		parts = append(parts, posthouse.Part{Name: f.Part, Codec: p.Codec.Name(), Data: enc})
	}
	return parts, nil
}

func (f *Field) encode(codec posthouse.Codec, ptr any) ([]byte, error) {
	enc, err := codec.Marshal(ptr)
	if err != nil {
		return nil, encodeError(f, err)
	}
	return enc, f.exact(codec, ptr, enc)
}

// exact refuses an encoding of the value at ptr that loses digits of numbers.
func (f *Field) exact(codec posthouse.Codec, ptr any, enc []byte) error {
	if !f.loose || codec.Name() != posthouse.JSON.Name() {
		return nil
	}
	return jsontype.Exact(f.Name, reflect.TypeOf(ptr).Elem(), enc)
}

func encodeError(f *Field, err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "state", Err: err,
		Message: fmt.Sprintf("field %s of type %s cannot be stored", f.Name, f.Type),
	}
}

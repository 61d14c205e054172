package graph

import (
	"fmt"
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/engine"
)

// sliceOf returns the slice of an append part: the field v, or what a Log holds.
func (f *field) sliceOf(v reflect.Value) reflect.Value {
	if isLog(f.typ) {
		return reflect.NewAt(f.slice, v.Addr().UnsafePointer()).Elem() // its one field
	}
	return v
}

// valueType is what the part's encoding decodes into.
func (f *field) valueType() reflect.Type {
	if f.rule == byTail {
		return f.slice
	}
	return f.typ
}

// zero returns a pointer to decode a value of the part into.
func (f *field) zero() any { return reflect.New(f.valueType()).Interface() }

// pointer returns what a codec encodes from and decodes into.
func (f *field) pointer(state reflect.Value) any {
	v := state.FieldByIndex(f.index)
	if f.rule == byTail {
		v = f.sliceOf(v)
	}
	return v.Addr().Interface()
}

// read decodes a checkpoint's parts into a zero state. Parts that the type
// does not have stay in the thread untouched; fields that the checkpoint does
// not have stay zero.
func (p *plan) read(codec posthouse.Codec, c *posthouse.Checkpoint, state reflect.Value) error {
	for i := range p.fields {
		f := &p.fields[i]
		v, ok := c.State[f.part]
		if !ok {
			continue
		}
		if err := unmarshal(codec, v, f.pointer(state)); err != nil {
			return &posthouse.Error{
				Code: posthouse.CodeInvalid, Field: "state", Err: err,
				Message: fmt.Sprintf("part %q of checkpoint %s does not fit the field %s of type %s", f.part, c.ID, f.name, f.typ),
				Hint:    "give the field the type it had when the checkpoint was written, or another name",
			}
		}
	}
	return nil
}

// unmarshal accepts JSON whatever the graph's codec is: a person may have
// edited the state.
func unmarshal(codec posthouse.Codec, v posthouse.Value, ptr any) error {
	switch v.Codec {
	case codec.Name():
		return codec.Unmarshal(v.Data, ptr)
	case posthouse.JSON.Name():
		return posthouse.JSON.Unmarshal(v.Data, ptr)
	}
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: "codec", Message: fmt.Sprintf("%q is not the graph's codec", v.Codec)}
}

// write encodes parts in full, for changes made by hand of what is on record;
// what is not, and is zero still, stays so.
func (p *plan) write(codec posthouse.Codec, state reflect.Value, recorded posthouse.State) ([]posthouse.Part, error) {
	parts := make([]posthouse.Part, 0, len(p.fields))
	for i := range p.fields {
		f := &p.fields[i]
		if _, ok := recorded[f.part]; !ok && state.FieldByIndex(f.index).IsZero() {
			continue
		}
		enc, err := f.encode(codec, f.pointer(state))
		if err != nil {
			return nil, err
		}
		parts = append(parts, posthouse.Part{Name: f.part, Codec: codec.Name(), Data: enc})
	}
	return parts, nil
}

// encode encodes a value of the part, by a pointer.
func (f *field) encode(codec posthouse.Codec, ptr any) ([]byte, error) {
	enc, err := codec.Marshal(ptr)
	if err != nil {
		return nil, encodeError(f, err)
	}
	return enc, f.exact(codec, ptr, enc)
}

// exact refuses an encoding of what ptr points to that loses digits of numbers.
func (f *field) exact(codec posthouse.Codec, ptr any, enc []byte) error {
	if !f.loose || codec.Name() != posthouse.JSON.Name() {
		return nil
	}
	return engine.Exact(f.name, reflect.TypeOf(ptr).Elem(), enc)
}

func encodeError(f *field, err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: "state", Err: err,
		Message: fmt.Sprintf("field %s of type %s cannot be stored", f.name, f.typ),
	}
}

package state

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"reflect"
	"unsafe"

	"github.com/posthouse/posthouse"
)

// An appendTracker follows an append part. It encodes what was added and refuses
// what was changed.
type appendTracker struct {
	*Field
	codec posthouse.Codec
	json  bool          // the codec is JSON
	slice reflect.Value // in the live state
	old   committed
	fresh int  // elements before extend
	reset bool // no element is known: the part is written in full next
}

// committed is what is on record of an append part.
type committed struct {
	elems reflect.Value // a shallow copy
	count int
	size  int      // bytes of their encoding
	array bool     // the encoding is [...], to which an element can be appended
	sums  []uint64 // deep: a hash of each element's encoding
	seed  maphash.Seed
}

func (c *committed) setSize(data []byte) {
	c.size = len(data)
	c.array = c.size > 1 && data[0] == '[' && data[c.size-1] == ']'
}

func (c *committed) sum(enc []byte) uint64 { return maphash.Bytes(c.seed, enc) }

func newAppendTracker(f *Field, v reflect.Value, codec posthouse.Codec) *appendTracker {
	t := &appendTracker{
		Field: f, codec: codec, slice: f.list.of(v), old: committed{elems: reflect.New(f.list.slice).Elem()},
		json: codec.Name() == posthouse.JSON.Name(),
	}
	if f.list.deep {
		t.old.seed = maphash.MakeSeed()
	}
	return t
}

// loaded takes the slice, just decoded from v, as committed.
func (t *appendTracker) loaded(v posthouse.Value) error {
	t.old.setSize(v.Data)
	return t.accept(nil)
}

// accept takes the elements after the known ones as committed. sums are the hashes
// of their encodings; commit computes those that are missing.
func (t *appendTracker) accept(sums []uint64) error {
	n := t.slice.Len()
	if t.list.deep {
		for i := t.old.count + len(sums); i < n; i++ {
			enc, err := t.encode(i)
			if err != nil {
				return err
			}
			sums = append(sums, t.old.sum(enc))
		}
		t.old.sums = append(t.old.sums, sums...)
	}
	t.old.elems.Set(reflect.AppendSlice(t.old.elems, t.slice.Slice(t.old.count, n)))
	t.old.count = n
	t.clip()
	return nil
}

// clip removes spare capacity, so that an append makes a copy. A Log keeps it,
// because only its Append can use it.
func (t *appendTracker) clip() {
	if n := t.slice.Len(); !t.list.inLog && t.slice.Cap() > n {
		t.slice.SetCap(n)
	}
}

// restart forgets the committed elements: the part is written in full next.
func (t *appendTracker) restart() {
	t.old.elems = reflect.New(t.list.slice).Elem()
	t.old.count, t.old.size, t.old.sums, t.fresh = 0, 0, nil, 0
	t.old.array, t.reset = false, true
}

func (t *appendTracker) encode(i int) ([]byte, error) {
	ptr := t.slice.Index(i).Addr().Interface()
	enc, err := t.codec.Marshal(ptr)
	if err != nil {
		return nil, encodeError(t.Field, fmt.Errorf("element %d: %w", i, err))
	}
	return enc, t.exact(t.codec, ptr, enc)
}

// delta returns the elements added since the last call as a change of the
// part. stored says that the part has a committed value at all.
func (t *appendTracker) delta(stored bool) (posthouse.Part, bool, error) {
	part := posthouse.Part{Name: t.Part, Codec: t.codec.Name()}
	n, err := t.length()
	if err != nil {
		return part, false, err
	}
	if stored && n == t.old.count && !t.reset {
		t.clip()
		return part, false, nil
	}
	t.fresh = t.old.count
	if !t.json || n == 0 {
		enc, err := t.Field.encode(t.codec, t.slice.Addr().Interface())
		if err != nil {
			return part, false, err
		}
		part.Data, t.reset = enc, false
		t.old.setSize(enc)
		return part, true, t.accept(nil)
	}
	return t.splice(part, stored)
}

// splice encodes the new elements alone, or all where there is no array to
// append to.
func (t *appendTracker) splice(part posthouse.Part, stored bool) (posthouse.Part, bool, error) {
	from, open := t.old.count, byte(',')
	whole := !stored || !t.old.array || t.old.count == 0
	if whole {
		from, open = 0, '['
	}
	var sums []uint64
	t.reset = false
	for i := from; i < t.slice.Len(); i++ {
		enc, err := t.encode(i)
		if err != nil {
			return part, false, err
		}
		if t.list.deep && i >= t.old.count {
			sums = append(sums, t.old.sum(enc))
		}
		if part.Data == nil {
			part.Data = make([]byte, 0, len(enc)+2)
		}
		part.Data = append(append(part.Data, open), enc...)
		open = ','
	}
	if whole {
		part.Data = append(part.Data, ']')
		t.old.setSize(part.Data)
	} else {
		part.Splice, part.Prefix, part.Suffix = true, t.old.size-1, 1
		t.old.size += len(part.Data)
	}
	return part, true, t.accept(sums)
}

// length returns how many elements there are. It refuses known ones that were taken
// away or, as far as their own bits show it, changed.
func (t *appendTracker) length() (int, error) {
	n := t.slice.Len()
	if n < t.old.count {
		return n, t.broken("had %d elements and now has %d: elements cannot be taken away", t.old.count, n)
	}
	if t.old.count == 0 {
		return n, nil
	}
	width := int(t.slice.Type().Elem().Size())
	now, known := memory(t.slice, t.old.count*width), memory(t.old.elems, t.old.count*width)
	if bytes.Equal(now, known) {
		return n, nil
	}
	for i := range t.old.count {
		if bytes.Equal(now[i*width:(i+1)*width], known[i*width:(i+1)*width]) {
			continue
		}
		if err := t.same(i); err != nil {
			return n, err
		}
		t.old.elems.Index(i).Set(t.slice.Index(i))
	}
	return n, nil
}

// memory returns the first n bytes of a slice's elements.
func memory(v reflect.Value, n int) []byte {
	return unsafe.Slice((*byte)(v.UnsafePointer()), n)
}

// same compares an element with the committed one by value.
func (t *appendTracker) same(i int) error {
	now, err := t.encode(i)
	if err != nil {
		return err
	}
	same := t.list.deep && t.old.sum(now) == t.old.sums[i]
	if !t.list.deep {
		known, err := t.codec.Marshal(t.old.elems.Index(i).Addr().Interface())
		if err != nil {
			return encodeError(t.Field, err)
		}
		same = bytes.Equal(now, known)
	}
	if !same {
		return t.broken("had its element %d edited in place", i)
	}
	return nil
}

// verify compares every committed element by value.
func (t *appendTracker) verify() error {
	for i := range t.old.sums {
		if err := t.same(i); err != nil {
			return err
		}
	}
	return nil
}

func (t *appendTracker) broken(format string, args ...any) error {
	return &posthouse.Error{
		Code: posthouse.CodeInvalid, Field: t.Name, Message: fmt.Sprintf("is an append part and "+format, args...),
		Hint: "append only, keep what changes in a part of its own, or drop the append rule; " +
			"CompileOptions.Check finds the node that does it",
	}
}

// extend appends the elements of the same field of another state.
func (t *appendTracker) extend(v reflect.Value) {
	v = t.list.of(v)
	t.fresh = t.slice.Len()
	if v.Len() > 0 || t.slice.IsNil() {
		t.slice.Set(appendOwn(t.slice, v))
	}
}

// appendOwn appends v to s in memory of its own, and keeps a nil nil.
func appendOwn(s, v reflect.Value) reflect.Value {
	if s.Len() == 0 && v.IsNil() {
		return s
	}
	own := reflect.MakeSlice(s.Type(), 0, s.Len()+v.Len())
	return reflect.AppendSlice(reflect.AppendSlice(own, s), v)
}

// detach decodes the newest elements from their encoding, if they may differ from that or
// share memory with what was merged.
func (t *appendTracker) detach() error {
	if t.faithful {
		return nil
	}
	for i := t.fresh; i < t.old.count; i++ {
		enc, err := t.encode(i)
		if err != nil {
			return err
		}
		e := t.slice.Index(i)
		e.SetZero()
		if err := t.codec.Unmarshal(enc, e.Addr().Interface()); err != nil {
			return err
		}
		t.old.elems.Index(i).Set(e)
		if !t.list.deep {
			continue
		}
		enc, err = t.encode(i)
		if err != nil { // keys of what was a struct have another order now
			return err
		}
		t.old.sums[i] = t.old.sum(enc)
	}
	return nil
}

// copyTo gives f, the field in a copy of the state, elements of its own.
func (t *appendTracker) copyTo(f reflect.Value) {
	f = t.list.of(f)
	if !f.IsNil() {
		f.Set(appendOwn(reflect.Zero(f.Type()), f))
	}
}

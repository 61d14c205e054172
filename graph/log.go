package graph

import (
	"encoding/json"
	"iter"
	"reflect"
	"slices"
)

// A Log is a list that only grows: an append part without a tag, and without a way to
// change its elements. Do not change them through their pointers, maps or slices
// either. The zero Log is empty and ready to use.
type Log[T any] struct {
	items []T
}

// LogOf returns a log of the items.
func LogOf[T any](items ...T) Log[T] { return Log[T]{slices.Clone(items)} }

// Append adds items at the end.
func (l *Log[T]) Append(items ...T) { l.items = append(l.items, items...) }

// Len returns how many items there are.
func (l Log[T]) Len() int { return len(l.items) }

// At returns item i, from 0. It panics if i is out of range, as a slice does.
func (l Log[T]) At(i int) T { return l.items[i] }

// Last returns the newest item; false if the Log is empty.
func (l Log[T]) Last() (item T, ok bool) {
	if len(l.items) == 0 {
		return item, false
	}
	return l.items[len(l.items)-1], true
}

// All yields the items with their index, oldest first.
func (l Log[T]) All() iter.Seq2[int, T] { return slices.All(l.items) }

// Slice returns the items as a slice of the caller's own.
func (l Log[T]) Slice() []T { return slices.Clone(l.items) }

// MarshalJSON writes the items as an array.
func (l Log[T]) MarshalJSON() ([]byte, error) { return json.Marshal(l.items) }

// UnmarshalJSON reads an array.
func (l *Log[T]) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &l.items) }

func (Log[T]) log() {}

var typeLog = reflect.TypeFor[interface{ log() }]()

// isLog reports whether t is a Log. A struct that embeds one has its methods, but not
// its fields.
func isLog(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.Implements(typeLog) &&
		t.NumField() == 1 && t.Field(0).Name == "items" && t.Field(0).Type.Kind() == reflect.Slice
}

// Package jsontype compares JSON with the Go type that it is read into.
//
// Encoding and decoding a value is not always the same value: numbers in an interface lose digits,
// and a member that a type lacks is dropped. [Exact] refuses the first before anything is stored,
// [DecodeRecorded] the second when a value is read that an earlier version of a program recorded.
//
// A [Schemer] describes the JSON of a type to those who write it: as JSON Schema, with the doc tags
// of fields as descriptions.
//
//	schema := (&jsontype.Schemer{}).Schema(reflect.TypeFor[Order]())
package jsontype

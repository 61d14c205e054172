// Package canon is the canonical byte encoding that everything hashed or
// signed is written in.
//
// There is exactly one encoding of a value: integers are minimal varints,
// strings and byte strings carry their length, and nothing is optional without
// a flag that says so. Decoding is strict: a second encoding of the same value
// is an error, so a record that decodes re-encodes to the bytes that were
// hashed. docs/format.md describes it for other implementations.
package canon

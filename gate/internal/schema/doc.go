// Package schema checks JSON values against JSON Schema, 2020-12 or draft 7. Schemas are
// written by strangers: what a schema may cost is bounded when it is compiled, and each
// check has a budget of steps. Numbers are compared as they are written, never rounded. An integer is
// written in digits: decoders of whole numbers take neither 10.0 nor 1e1, which JSON Schema allows.
//
// Nested $id and references out of the document are refused. Of "format", int8 to int64 and uint8
// to uint64 are checked: a whole number in digits, in that range. Other formats and annotations
// are not checked.
package schema

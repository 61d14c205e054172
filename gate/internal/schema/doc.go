// Package schema checks JSON values against JSON Schema, 2020-12 or draft 7. Schemas are
// written by strangers: what a schema may cost is bounded when it is compiled, and each
// check has a budget of steps. Numbers are compared as they are written, never rounded.
//
// Nested $id and references out of the document are refused; "format" and other
// annotations are not checked.
package schema

// Package strict reads JSON that two readers cannot understand differently:
// bodies of requests, and the file of tokens.
//
//	err := strict.Decode(data, &body)
//
// A name that is given twice, that the struct does not have, or has in other
// letters, invalid UTF-8, nesting deeper than the root allows, and anything behind
// the value are refused, with the name of what is at fault. [Fields] lists what
// [Decode] takes, for documentation.
//
// The package may import the root package and internal/strictjson.
package strict

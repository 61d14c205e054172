// Package strict reads JSON that two readers cannot understand differently:
// bodies of requests, and the file of tokens.
//
//	err := strict.Decode(data, &body)
//
// It refuses a name that is given twice, or that the struct does not have in these
// letters, invalid UTF-8, nesting deeper than the root package allows, and anything
// after the value. Its errors name what is at fault. [Fields] lists what [Decode]
// takes, for documentation.
package strict

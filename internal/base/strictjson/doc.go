// Package strictjson finds what readers of valid JSON may understand differently.
//
// encoding/json takes the last of two members of one name, and puts U+FFFD in the
// place of half a surrogate pair; others take the first, or refuse:
//
//	strictjson.Twice([]byte(`{"to":"bob","to":"eve"}`))  // "to", true
//	strictjson.Surrogate([]byte(`"\ud800"`))             // 1
//
// The input must be valid JSON, except for Deeper, which finds what nests deeper than
// a reader may follow.
package strictjson

// Package jsonpatch changes JSON documents by JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7396).
//
//	after, err := jsonpatch.Apply(doc, []byte(`[{"op":"replace","path":"/amount","value":35}]`), 1<<20)
//	after, err = jsonpatch.Merge(doc, []byte(`{"note":null}`), 1<<20)
//
// Values that a patch does not touch keep their bytes: a number such as 9007199254740993 stays what
// it is, and members stay in their order. New members come last. Documents and patches must be valid
// JSON without a member twice, which the caller has checked.
//
// A [Fault] says which operation failed, at which path, and why. Documents are bounded in bytes while
// they grow, and so are operations.
package jsonpatch

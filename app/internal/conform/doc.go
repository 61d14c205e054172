// Package conform runs the conformance suite of stores against a user's own server, and
// reports what the server makes durable.
//
//	report, err := conform.Run(ctx, &conform.Options{URL: url, Open: all.Open, Again: again})
//
// Every case has a namespace of its own beside the user's data: a schema, a prefix or a
// directory. It is dropped when the case ends. The user's data is never opened.
package conform

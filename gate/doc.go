// Package gate puts a question to a person, a program or a policy from inside a
// node, flow or handler, and waits for the answer without holding anything.
//
//	a, err := gate.Ask[Edit](ctx, gate.Question{
//		Name: "refund", Text: "Refund order 1234?", Show: order, Expires: 48 * time.Hour,
//	})
//	if err != nil {
//		return err // posthouse.ErrWaiting: the thread is parked until the gate is decided
//	}
//	if a.Approved() {
//		...
//	}
//
// The first time, Ask returns [posthouse.ErrWaiting]; return it. The runtime
// commits a waiting checkpoint with the question and lets go of everything. When
// [posthouse.Ledger.Decide] has recorded a decision, the node runs again from
// its start, with its recorded steps, and Ask returns the [Answer]. Whether
// that is a minute or a month and a new version of the program later makes no
// difference.
//
// # Answers
//
// The verdict says what was decided. Only Approve and Edit are a yes; Reject,
// Expire and Cancel are a no, and silence is never a yes. Edit and Respond
// carry a value: it was checked against the question's schema before it was
// recorded, and is decoded into the T of Ask. null is a value. Without a Schema
// of its own a question takes the one that its T has, in which fields without
// omitempty are required and unknown ones refused: an edit states the whole T.
// Ask[any] takes any JSON.
//
// # Several questions
//
// A node may ask any number of questions, one after the other, or several at
// once by asking all before it returns ErrWaiting; those of one name are told
// apart by their order. Each has its own id, which never changes.
//
// # Who may decide
//
// Assignees limits who; without it, anyone whose role allows. A question that
// says RequestedBy is not approved by that person unless AllowRequester is set.
// The rules are kept by the Ledger, whoever calls it.
//
// # Setting up
//
// The Ledger checks values with what [posthouse.Options].Validate holds; without
// it, a value for a question with a schema is refused:
//
//	ledger, err := posthouse.Open(store, &posthouse.Options{Validate: gate.Validator()})
//
// The package imports the root package, internal/engine and
// github.com/google/jsonschema-go.
package gate

// Package gate asks a person, a program or a policy from inside a node, flow or handler.
// It waits for the answer without holding anything.
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
// commits a waiting checkpoint with the question and frees the thread. When
// [ledger.Ledger.Decide] has recorded a decision, the node runs again from
// its start, with its recorded steps, and Ask returns the [Answer]. That may be a
// month and a new version of the program later.
//
// # Answers
//
// The verdict says what was decided. Only Approve and Edit are a yes; Reject,
// Expire and Cancel are a no. Edit and Respond carry a value, which may be null. It was
// checked against the question's schema before it was recorded, and is decoded
// into the T of Ask. Without a Schema of its own a question takes that of its T, in
// which fields without omitempty are required and unknown ones refused: an edit
// states the whole T. Ask[any] takes any JSON.
//
// # Several questions
//
// A node may ask any number of questions, one after the other, or several at
// once by asking all before it returns ErrWaiting. Each has its own id, which never
// changes. An answer is found by the question's name, text and payload, and its number
// among those that show the same, in whatever order a program asks. A question that has
// changed is asked again. With Bind an answer holds for the name alone.
//
// # Effects
//
// [Propose] shows content and returns a grant once it is approved; [Act] runs an
// effect on what was approved, once, whatever the state says by then:
//
//	grant, err := gate.Propose(ctx, gate.Question{Name: "pay", Text: "Pay this order?"}, payment)
//	...
//	receipt, err := gate.Act(ctx, "pay", grant, bank.Pay)
//
// After a crash in its middle, an effect's outcome is unknown. It is not done
// again without asking.
//
// # Who may decide
//
// Assignees limits who may decide; without it, anyone with a role that allows it may. A
// question below a graph, a flow or a coordinator is the request of the input's sender
// (RunOptions.By, coord.HandleOptions.By), of the person that RequestedBy names, and of
// whoever changed since what it asks about: by a fork, an update or a signal.
// Requesters may reject their own request, but may not approve, edit or answer it
// unless AllowRequester is set. That rule does not apply where the requester is
// unknown, or where a question takes no approve and no edit. An assignee may hand the
// right on ([ledger.Ledger.Delegate]), and Escalate gives it to more people after a
// while. With Quorum or FourEyes several people vote, each once: the vote that meets
// the rule is the decision. The Ledger keeps these rules, whatever calls it.
//
// # Without people
//
// Auto decides where it can: always, by a judge with enough confidence, or when the
// deadline passed. Its decision is on record as a gate that was decided when it was
// opened. All other questions go to people.
//
// # In a session
//
// [Require] wraps a tool, so that each call is approved on its caller's connection, within
// seconds, by a message or by id:
//
//	pay = gate.Require(pay, gate.Approval{Tool: "pay", Message: "Pay this order?"})
//
//	chat := gate.NewSession(&gate.SessionOptions{By: "alice", Announce: show})
//	defer chat.Close() // denies what still waits
//	go app.Run(chat.With(ctx), thread, input)
//	...
//	chat.Receive("/__approval/apr_.../approve", "alice")
//
// With SessionOptions.Ledger a [Relay] in any process over the same store answers it,
// too. Only the answers of people outlive the session: below a node, flow or handler
// they are recorded steps, and hold for the same call in the name of the same
// principal. Without a session the tool does not run.
//
// # Setting up
//
// The Ledger checks values with what [ledger.Options].Validate holds; without
// it, a value for a question with a schema is refused:
//
//	led, err := ledger.Open(store, &ledger.Options{Validate: gate.Validator()})
package gate

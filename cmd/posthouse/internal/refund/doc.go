// Package refund is the bundled sample: requests for refunds that an analyzer
// assesses, a person decides, and an approver carries out.
//
// The coordinator is called dispatch. It calls the agent analyzer, which makes
// a recommendation with a risk level out of the words of the request (no model,
// no key, always the same), then asks whether to go on, showing what it would carry
// out: the request of the state, which a fork can change. Nothing is held while it
// waits. Once approved, or edited into another request, the agent approver
// carries out what the decision's record says: its one effect, under the grant, is a
// line in the effects log. A rejection, an expiry or a withdrawal ends the request
// without an effect.
//
// The checkpoints of a request, root first:
//
//	analyzer  waiting  State: request, recommendation
//	approver  done     State: request, recommendation, approvedBy, result
//
// or, where there was no approval, one of the coordinator's own: request and
// result ("Rejected by bob"), and who said so in data. An agent that fails leaves
// a failed checkpoint: request and error.
package refund

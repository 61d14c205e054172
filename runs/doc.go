// Package runs has the words for a run of a program that graphs, flows and coordinators share:
// what a stream of it yields, what happens where its thread is busy, how it ended, how often a
// step is tried again, and the errors that a step returns.
//
//	for e, err := range app.Stream(ctx, "order-7", in, flow.RunOptions{Modes: []runs.StreamMode{runs.StreamMessages}}) {
//		...
//	}
//	_, err = app.Run(ctx, "chat-1", in, flow.RunOptions{OnBusy: runs.Enqueue})
//
// The packages of the models ([github.com/posthouse/posthouse/graph],
// [github.com/posthouse/posthouse/flow], [github.com/posthouse/posthouse/coord]) and package
// [github.com/posthouse/posthouse/step] take and return these types. A graph's nodes and a flow's
// steps are called tasks where both are meant.
package runs

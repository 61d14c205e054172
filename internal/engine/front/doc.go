// Package front runs the programs of a model for their callers. A [Front] claims threads,
// runs, resumes and replays them, and reads what is on record:
//
//	f := &front.Front[RunOptions, In, Result, Snapshot]{Ledger: l, Kind: "flow", Name: "order", NewRun: ...}
//	res, err := f.Run(ctx, "order-1234", &in, nil)   // in the foreground
//	h, err := f.Start(ctx, "order-1234", &in, nil)   // in the background
//	for notice, err := range f.Stream(ctx, "order-1234", &in, nil) { ... }
//
// A model implements [Run]: what a call does over one branch, from a new input or from the
// head. The Front has the rest: who may have the thread ([runs.OnBusy]), what happens when
// somebody cancels the run, and that the thread is given back however the run ends.
package front

// Package flow runs a plain Go function over a thread of a [ledger.Ledger]:
// the function survives its process, waits for people, signals and times
// without holding anything, and has a history that can be read, forked and
// replayed.
//
// # A first flow
//
//	order := flow.New("order", func(ctx context.Context, in Order) (Receipt, error) {
//		charge, err := step.Do(ctx, "charge", func(ctx context.Context) (Charge, error) { return bank.Charge(ctx, in, step.Key(ctx)) })
//		if err != nil {
//			return Receipt{}, err
//		}
//		a, err := gate.Ask[struct{}](ctx, gate.Question{Name: "ship", Show: charge, Expires: 48 * time.Hour})
//		if err != nil {
//			return Receipt{}, err // posthouse.ErrWaiting: the thread is parked
//		}
//		if !a.Approved() {
//			return refund(ctx, charge)
//		}
//		return ship(ctx, in, charge)
//	})
//
//	app, err := order.Open(ledger, nil)
//	out, err := app.Run(ctx, "order-1234", Order{Item: "lamp"})
//	// out.Waiting lists the gates. A week and a restart later, anywhere:
//	_, err = ledger.Decide(ctx, gateID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
//	out, err = app.Resume(ctx, "order-1234") // or a runner does that
//	// out.Output is the receipt.
//
// # How it goes on
//
// The function is executed again from its top each time: after an answer, a
// failure, a crash. What it did through step.Do, step.Map, step.Sleep,
// step.Signal and gate.Ask is on record and returns at once; the first call
// that is not on record is where it goes on. So what acts on the world, or does
// not come out the same twice, belongs into a step: calls to others, and
// step.Now and step.NewID for the clock and ids. The rest is ordinary Go: loops,
// conditions, functions, errors.
//
// A function whose code changed while a thread was in the middle of it is told
// by an error that names both steps, before it does anything; with the old code,
// or from a fork behind the change, the thread goes on.
//
// # What is on record, and when
//
// The input is committed before the function begins. Each step's result is
// committed before the step returns, together with a checkpoint of kind event
// that has the step's name as its node; so the history shows the steps, and a
// fork can begin behind any of them. Checkpoints hold the input and the output,
// not the results: they are small. [Options.FewCheckpoints] leaves those of steps
// out. A wait makes a checkpoint with its gates, a failure one with its error,
// the end one with the output.
//
// Retries of steps (step.Options) are on record, too. A sleep or a retry that is
// due within [Options.HoldFor] is waited for in the process, behind its
// checkpoint; a later one parks the thread, and a runner wakes it.
//
// # One thread, many executions
//
// [App.Run] on a thread that has ended begins a new execution; [Previous] is
// what the one before it returned. A run that names itself (RunOptions.Run) can
// be sent twice and is executed once.
//
// # Reading along
//
// [App.Stream] is Run as a sequence of events: step.Token and step.Emit as they
// come, the result of each step once it is on record, checkpoints, what becomes
// of each step. The last event has the result, also of a run that parked. Whoever
// leaves the loop stops the run before its next step.
//
// # In the background, and several at once
//
// [App.Start] returns a [Handle], which cancels, drains and says how the run
// ended. One run at a time has a thread: RunOptions.OnBusy says whether another
// one is refused, waits in line, or takes its place.
//
// # Time travel
//
// [App.State] and [App.History] read checkpoints. [App.Fork] begins a branch or
// a thread at any of them, with the steps recorded up to there, and [App.Replay]
// runs on from one; [App.Compare] says what came out differently, [App.Copy]
// makes a thread with the history of another. Nothing changes what is on record.
//
// [App.Release], or [AutoRelease] at the end of each run, closes a thread as a
// version that stays readable, and frees its name.
//
// What a graph has besides, updates of the state, interrupts at nodes, pictures
// and migrations, a flow cannot have: its state and its shape are variables and
// control flow of a Go function, of which only the input and what steps returned
// is on record.
//
// # Caveats
//
//   - Steps come in the same order each time the function is executed; for steps
//     at once there are step.Go and step.Map. Results come back as their codec has
//     them: an any from JSON holds numbers as float64.
//   - Do not swallow [posthouse.ErrWaiting]: the thread is parked all the same,
//     but steps behind it would be recorded too early.
//   - Wait for your goroutines before the function returns: what they do later
//     is refused with [posthouse.ErrClosed].
//   - Executing again costs reading the results of the execution's steps: give
//     work without end a new execution now and then, which takes over by Previous.
//   - A function that does not heed its context is not interrupted by a cancel;
//     its next step is refused.
//   - One run at a time has a thread: others get [posthouse.ErrBusy], unless
//     RunOptions.OnBusy says otherwise. A function that enqueues a run of its own
//     thread waits for itself.
//
// The package imports the root package and internal/engine and nothing else of
// this module.
package flow

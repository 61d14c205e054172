// Package flow runs a plain Go function over a thread of a [ledger.Ledger]. The function
// survives its process and waits for people, signals and times without holding
// anything. Its history can be read, forked and replayed.
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
// failure, a crash. Its calls of step.Do, step.Map, step.Sleep, step.Signal and
// gate.Ask are on record and return at once; it goes on at the first call that is
// not on record. So put code that acts on the world or may come out differently into
// a step; step.Now and step.NewID record the clock and ids. The rest is ordinary Go:
// loops, conditions, functions, errors.
//
// If the code changed while a thread was in the middle of it, the function fails before
// it does anything, with an error that names both steps. The thread goes on with the old
// code, or from a fork before the change.
//
// # What is on record, and when
//
// The input is committed before the function begins. Each step's result is
// committed before the step returns, together with a checkpoint of kind event
// that has the step's name as its node. So the history shows the steps, and a fork can
// begin after any of them. Checkpoints are small: they hold the input and the output,
// not the results. [Options.FewCheckpoints] leaves out those of steps. A wait makes a
// checkpoint with its gates, a failure one with its error, the end one with the output.
//
// Retries of steps (step.Options) are on record, too. The run itself waits for a sleep or
// a retry that is due within [Options.HoldFor]. A later one parks the thread, and a
// runner wakes it.
//
// # One thread, many executions
//
// [App.Run] on a thread that has ended begins a new execution; [Previous] is
// what the one before it returned. A run with an id of its own (RunOptions.Run) is
// executed once, however often it is sent.
//
// # Streams
//
// [App.Stream] is Run as a sequence of events: step.Token and step.Emit as they
// come, the result of each step once it is on record, checkpoints, what becomes
// of each step. The last event has the result, also of a run that parked. A reader that
// leaves the loop stops the run before its next step.
//
// # In the background, and several at once
//
// [App.Start] returns a [Handle], which cancels, drains and says how the run
// ended. One run at a time has a thread. RunOptions.OnBusy says whether another
// one is refused, waits in line, or takes its place.
//
// # Time travel
//
// [App.State] and [App.History] read checkpoints. [App.Fork] begins a branch or
// a thread at any of them, with the steps recorded up to there. [App.Replay] runs on
// from one, [App.Compare] shows what differs, and [App.Copy] makes a thread with the
// history of another. Nothing changes what is on record.
//
// [App.Release], or [AutoRelease] at the end of each run, closes a thread as a
// version that stays readable, and frees its name.
//
// A flow has no updates of the state, interrupts at nodes, pictures and migrations, as
// graphs have. Its state and its shape are variables and control flow of a Go function;
// only the input and what steps returned is on record.
//
// # Caveats
//
//   - Steps come in the same order each time the function is executed; for steps
//     at once there are step.Go and step.Map. Results come back as their codec has
//     them: an any from JSON holds numbers as float64.
//   - Do not swallow [posthouse.ErrWaiting]: the thread is parked all the same,
//     but later steps would be recorded too early.
//   - Wait for your goroutines before the function returns: what they do later
//     is refused with [posthouse.ErrClosed].
//   - Executing again costs reading the results of the execution's steps. Split endless
//     work into several executions; each reads by Previous what the last one returned.
//   - A cancel does not interrupt a function that ignores its context; its next step is
//     refused.
//   - A function that enqueues a run of its own thread waits for itself.
package flow

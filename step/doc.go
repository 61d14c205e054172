// Package step runs a unit of work once: its result is on record before it is returned.
// Whenever the node, flow or handler around it is executed again, after a wait, a failure
// or a crash, the recorded result is returned instead.
//
//	reply, err := step.Do(ctx, "llm", func(ctx context.Context) (Message, error) {
//		return llm.Complete(ctx, messages)
//	})
//	if err != nil {
//		return err // the step runs again with the node
//	}
//
// A result is found by the execution it belongs to, its name, and how many calls of that
// name came before. Call steps in the same order each time. The state, earlier results
// and the answers of gates are the same in each execution; a clock, a random number and
// the order of a map are not. [Now] and [NewID] are recorded. A replay that asks for
// another step than the recorded one fails before it runs anything, and names both.
//
// # What is promised
//
// A recorded result is never computed again. A function that failed, or lost its
// process before its result was on record, runs again: it runs at least once and is
// recorded at most once. A failure that the program acted after stands, too: see
// [runs.Failure]. Give an API that acts on the world [Key] as its idempotency key, and
// it acts once.
//
// The value that Do returns was decoded from its recorded bytes, in the first
// execution too: what does not survive its codec (unexported fields, a nil map
// that becomes an empty one) is missed at once, not after a restart.
//
// # Steps beside each other
//
// A [Group] runs steps at once, each with a name and a result of its own; [Map]
// runs one for each item of a list. Each is on record as soon as it is done:
// one that fails or waits, or a crash, costs the others nothing.
//
//	prices, err := step.Map(ctx, "price", cities, fetch, step.GroupOptions{Limit: 8})
//
// # Trying again
//
// [DoWith] takes a [posthouse.RetryPolicy] and a timeout for each attempt. Attempts are on
// record, so a restart neither gives a step its budget back nor forgets when
// its next attempt is due.
//
// # Waiting
//
// [Sleep], [Until] and [Signal] park the thread by returning
// [posthouse.ErrWaiting]: return it, and nothing is held until the time or the
// signal has come. Like steps they are told apart by name and number, and have
// their place in the order. A signal that came before the wait is taken at once,
// the oldest first, each by one wait on a branch.
//
//	if err := step.Sleep(ctx, "cool off", 24*time.Hour); err != nil {
//		return err
//	}
//	paid, err := step.Signal[Payment](ctx, "paid", step.SignalOptions{Timeout: 48 * time.Hour})
//
// [Select] waits for the first of several things, and withdraws the others.
//
// A wait that was over when it was first asked for is not on record: give Until
// a time that does not change between executions (from the state, or from a
// step), or the replay may find it in another place.
//
// # Reporting progress
//
// [Token], [Writer] and [Emit] send text and values to the reader of the run's stream.
// They are not on record. Without a reader they do nothing.
//
// # Caveats
//
// Give goroutines of a node that call steps themselves, without a Group, the context of
// [Unordered]. A step may call steps and ask gates itself, with the context that its
// function was given. Names are 1 to 200 bytes of UTF-8 without control characters and
// '>'. In a loop that goes on past failures, put the item into the name, so that the
// log says which is which.
//
// Steps with one name are told apart by their order alone. Do not start them in the order of a
// map: after a crash another item comes first, and gets the recorded result of the first one.
// Nothing can see that. Range over sorted keys, or put the item into the name: then the replay is
// refused.
package step

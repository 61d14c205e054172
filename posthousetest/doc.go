// Package posthousetest tests programs: flows, graphs and coordinators, as they stand.
//
//	func TestRefund(t *testing.T) {
//		bank := posthousetest.NewTool(t, "bank", func(ctx context.Context, p Payment) (string, error) { return "receipt 1", nil })
//		env := posthousetest.New(t, func(led *ledger.Ledger) ([]posthouse.Program, error) {
//			app, err := flow.New("refund", refund(bank.Call)).Open(led, nil)
//			return []posthouse.Program{app}, err
//		}, nil)
//		env.Answer("refund", posthousetest.Approve("ann"))
//		env.Start("refund", "order-1234", Order{"1234", 40}).Done().Acted("pay")
//		bank.Once()
//	}
//
// An [Env] has a Ledger in memory, a clock that stands still, and the programs. Nothing runs between
// its calls, and no call sleeps: each returns once every thread has ended, failed, or waits for
// something that the test has not given.
//
// # Answers
//
// [Env.Answer] gives a decision to the next question of a name, now or once it is asked. A test ends
// with all answers used and all questions answered, or it fails, and says what was asked, with
// what was shown. [Thread.Question] looks at a question that stays open.
//
// # Time
//
// [Env.Advance] moves the clock: sleeps, retries, deadlines, reminders and escalations happen at their
// own times on the way. A wait that a run makes itself because it is short, as between attempts,
// moves the clock without a call. The time limit of a step or node is one of the machine's clock:
// test it within testing/synctest.
//
// # The world outside
//
// A [Tool] is a double of a model, a bank, a mail server: it remembers its calls over kills, with
// their idempotency keys and the approvals that they ran under. [Handle] is a worker of tasks.
// A [Bank] is a service on a real connection, which breaks as a test says: before it paid, after
// that, or with a lie.
//
// # Kills
//
// [Env.Kill] has the process die before or after a step is on record; another process goes on.
// [EveryKill] does so at each entry in turn, and proves that nothing of a run depends on the
// process. A step without its result on record runs again: with the same step.Key, which
// [Tool.Once] counts as one. An effect of gate.Act is not done again; people are asked what became of it, and
// Options.Tools answers by whether the tool was called.
//
// # Replay
//
// [Thread.CheckReplay] executes a program again over each beginning of its log, and finds one that would not take
// the recorded way: because it reads a clock, ranges over a map, or was changed while threads are
// open. [Env.Import] has a thread of production for that.
//
// # Caveats
//
// The store is in memory: what a store loses when power is cut is not tried here. Programs run one thread
// after another. An Env is not safe for concurrent use, and its test must not be parallel with
// itself.
package posthousetest

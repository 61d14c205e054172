// Package inbox lists the questions of a store to people: those that wait, and what became of the
// others.
//
//	page, err := inbox.List(ctx, led, &inbox.Query{Everyone: true, State: inbox.Open, Question: "refund", Order: inbox.ByDeadline})
//	for _, item := range page.Items {
//		fmt.Println(item.Gate.ID, item.Gate.Text)
//	}
//	page, err = inbox.List(ctx, led, &inbox.Query{State: inbox.Decided, Decider: "alice", After: page.Next})
//
// Open gates are found by the store's index of them. Decisions are read from the logs, the
// thread with the newest entry first, and merged by time: the newest decisions cost what was written
// since, not the whole store. The work for one page is bounded, so a page may be short, or empty,
// and say where to go on; only a page without Next is the last.
//
// A person's inbox leaves out what they hid for a while ([Hide], [Show]).
//
// Lists are as exact as clocks are: within a thread the order is the log's, across threads it is that
// of times, which processes on several hosts take from their own clocks.
package inbox

// Package usage adds up what a thread's steps used of models, by the notes on record: calls, tokens
// and cost.
//
//	u, err := usage.Of(ctx, led, "order-1234")
//	for _, c := range u.Costs {
//		fmt.Println(c) // 0.71 USD
//	}
//
// A program notes them with step.Note ([posthouse.Note]). A replay repeats no step, so nothing is
// counted twice; attempts that failed count, since they were paid for, too. Sums are exact: costs are
// decimal texts, and never become floats.
package usage

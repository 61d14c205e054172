// Package waits says how long questions waited for people, by question and by person.
//
//	report, err := waits.Of(ctx, led, &waits.Query{From: monday})
//	for _, q := range report.Questions {
//		fmt.Println(q.Question, q.Open, q.Decided, q.Wait.Median)
//	}
//
// The figures are those of the log: open questions as they are now, and what was decided, expired or
// was withdrawn in a period, the newest first. A report reads a bounded number of questions and
// keeps a bounded number of rows, and says if there are more. Percentiles are exact to 5 %, and the
// longest wait is exact.
package waits

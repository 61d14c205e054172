// Package shared lets callers that ask for the same at the same time share one answer.
//
//	reports := shared.Calls[period, *Report]{}
//	report, err := reports.Do(ctx, p, func(ctx context.Context) (*Report, error) { return read(ctx, p) })
//
// An answer is never older than its question: who asks while a call runs waits for the next one, which serves
// all who came since. So of one key one call runs at a time, whoever asks however often. It runs in the goroutine of
// one of its callers, and ends when all of them have gone.
//
// Package singleflight of golang.org/x/sync answers by a call that began earlier, and knows no contexts.
package shared

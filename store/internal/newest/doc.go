// Package newest lists threads by activity for stores that have no index of it:
//
//	if q.ByActivity() && q.Thread == "" {
//		return newest.Threads(ctx, s.Threads, q)
//	}
//
// It reads the summaries of all threads by name and keeps the newest, so a page costs what
// the store's threads cost, but no more memory than the page.
package newest

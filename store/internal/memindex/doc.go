// Package memindex is the index of a store that keeps its index in memory: the threads'
// summaries, ids, checkpoints and open gates, and the order of commits. A store says what
// it keeps for each entry, the content itself or where it lies, and asks for it with [Data]:
//
//	ix := memindex.New()
//	fresh, err := ix.Admit(batches) // a conflict, a taken id
//	... make the entries durable ...
//	ix.Lock()
//	ix.Add(memindex.Take(batch, where))
//	ix.Unlock()
//
// The index answers Find, List, Threads and the order of a watch by itself. The lock
// guards all of it; reads take it for one page at a time, and never while the caller's
// code runs. The store makes sure that only one goroutine writes.
//
// A checkpoint takes about 970 bytes of memory with its place in a file (BenchmarkOpen of
// store/filestore).
package memindex

// Package wake wakes those who wait for the next commit of a store.
//
//	next := s.news.Wait()   // before the look, so that no commit is missed
//	page := look()
//	if len(page) == 0 {
//		<-next              // and look again
//	}
//
// [News] is within a process: a commit tells all who wait. [Listener] brings it what other
// processes commit, and costs a connection only while somebody watches. Both are hints: a
// watch reads the store, and polls it where a hint may be lost.
package wake

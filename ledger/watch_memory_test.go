package ledger

import (
	"fmt"
	"testing"

	"github.com/posthouse/posthouse/internal/threadlog"
)

// TestAWatchRemembersLittle: a watch remembers the threads that it met lately, and no more than its bound.
func TestAWatchRemembersLittle(t *testing.T) {
	var l lastSeen
	busy, forgotten := uint64(0), false
	for n := range 20 * maxWatched {
		if n%100 == 0 {
			last, ok, forgot := l.swap("busy", threadlog.LinkMark{Seq: busy + 1})
			if ok != (busy > 0) || last.Seq != busy {
				t.Fatalf("after %d threads, entry %d of a busy one is remembered, %t; want entry %d", n, last.Seq, ok, busy)
			}
			busy, forgotten = busy+1, forgotten || forgot
		}
		_, ok, forgot := l.swap(fmt.Sprint("thread-", n), threadlog.LinkMark{Seq: 1})
		if ok {
			t.Fatalf("thread %d was met before", n)
		}
		forgotten = forgotten || forgot
		if n < maxWatched/2-10 && forgotten {
			t.Fatalf("a thread is forgotten after %d", n)
		}
	}
	if kept := len(l.young) + len(l.old); kept > maxWatched || !forgotten {
		t.Errorf("%d threads are remembered, forgotten are some: %t", kept, forgotten)
	}
}

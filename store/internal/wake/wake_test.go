package wake_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse/store/internal/wake"
)

// isClosed reports whether a channel is closed.
func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func TestNewsWakeAllWaiters(t *testing.T) {
	var n wake.News
	n.Tell() // no one waits
	first, second := n.Wait(), n.Wait()
	if isClosed(first) || isClosed(second) {
		t.Error("a wait is over before there are news")
	}
	n.Tell()
	if !isClosed(first) || !isClosed(second) {
		t.Error("news do not wake all who wait")
	}
	if isClosed(n.Wait()) {
		t.Error("a wait that began after the news is over")
	}
}

func TestClosedNewsWakeNowAndLater(t *testing.T) {
	var n wake.News
	before := n.Wait()
	n.Close()
	after := n.Wait()
	n.Tell()
	n.Close()
	if !isClosed(before) || !isClosed(after) || !isClosed(n.Wait()) {
		t.Error("a wait goes on after Close")
	}
}

func TestAListenerRunsWhileThereAreWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, runs := 0, 0
		l := wake.Listener{Listen: func(ctx context.Context) {
			running++
			runs++
			<-ctx.Done()
			running--
		}}
		want := func(after string, run, all int) {
			t.Helper()
			synctest.Wait()
			if running != run || runs != all {
				t.Errorf("after %s %d run of %d, want %d of %d", after, running, runs, run, all)
			}
		}
		want("nothing", 0, 0)
		l.Begin()
		l.Begin()
		want("two watches", 1, 1)
		l.End()
		want("the end of the first", 1, 1)
		l.End()
		want("the end of both", 0, 1)
		l.Begin()
		want("another watch", 1, 2)
		l.Stop()
		if running != 0 {
			t.Errorf("%d run after Stop has returned", running)
		}
		l.End()
		l.Begin()
		want("a watch of a stopped one", 0, 2)
		l.End()
	})
}

func TestAListenerWithoutListenWaitsForNothing(t *testing.T) {
	var l wake.Listener
	l.Begin()
	l.End()
	l.Stop()
}

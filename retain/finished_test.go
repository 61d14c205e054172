package retain_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/retain"
	"github.com/posthouse/posthouse/store/memstore"
)

// A past is what a test did to a thread, by which it must stay or may go.
type past struct {
	status posthouse.Status // of its one branch
	moved  time.Time
	usable bool // an approval, which a later run may still use
	source bool // of a fork in another thread
	held   bool
}

func (p *past) needed(now time.Time, limit time.Duration) bool {
	switch p.status {
	case posthouse.StatusDone, posthouse.StatusCancelled:
	case posthouse.StatusFailed, posthouse.StatusInterrupted:
		if p.usable {
			return true
		}
	default:
		return true
	}
	return p.source || p.held || now.Sub(p.moved) <= limit
}

// TestFinishedTakesNothingUsable: whatever happened to threads, a policy keeps every thread
// that is needed, takes those that ended long ago, and says both in a dry run.
func TestFinishedTakesNothingUsable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, now := context.Background(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		l, err := ledger.Open(memstore.New(), &ledger.Options{Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		ok := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		threads, heads, forks := map[string]*past{}, map[string]posthouse.ID{}, 0
		commit := func(thread string, kind string, status posthouse.Status, gates ...posthouse.Gate) *posthouse.Committed {
			var next []string
			if status != posthouse.StatusDone && status != posthouse.StatusCancelled {
				next = []string{"n"}
			}
			done, err := l.Commit(ctx, &ledger.Draft{Thread: thread, Gates: gates, Checkpoint: &posthouse.Change{
				Kind: kind, Status: status, Next: next, State: posthouse.State{"n": {Codec: "json", Data: []byte("1")}},
			}})
			ok(err)
			if threads[thread] == nil {
				threads[thread] = &past{}
			}
			p := threads[thread]
			p.status, p.moved, heads[thread] = status, now, done.Checkpoint.ID
			return done
		}
		for range rapid.IntRange(1, 25).Draw(t, "acts") {
			thread := fmt.Sprint("t", rapid.IntRange(0, 4).Draw(t, "thread"))
			p := threads[thread]
			if p != nil && p.held {
				continue
			}
			switch rapid.IntRange(0, 8).Draw(t, "act") {
			case 0:
				commit(thread, posthouse.KindNode, posthouse.StatusDone)
			case 1:
				commit(thread, posthouse.KindFail, posthouse.StatusFailed)
			case 2:
				commit(thread, posthouse.KindNode, posthouse.StatusInterrupted)
			case 3:
				commit(thread, posthouse.KindNode, posthouse.StatusRunning)
			case 4:
				commit(thread, posthouse.KindWait, posthouse.StatusWaiting, posthouse.Gate{Name: "ok?"})
			case 5:
				asked := commit(thread, posthouse.KindWait, posthouse.StatusWaiting, posthouse.Gate{Name: "pay?", Uses: 1})
				_, err := l.Decide(ctx, asked.Gates[0].ID, posthouse.Decision{Verdict: posthouse.Approve, By: "alice"})
				ok(err)
				threads[thread].usable, threads[thread].status = true, posthouse.StatusReady
			case 6:
				now = now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
			case 7:
				if p != nil {
					forks++
					to := fmt.Sprint("fork", forks)
					c, err := l.Fork(ctx, heads[thread], &ledger.ForkOptions{Thread: to})
					ok(err)
					p.source = true
					threads[to] = &past{status: c.Status, moved: now}
					heads[to] = c.ID
				}
			case 8:
				if p != nil {
					_, err := retain.Hold(ctx, l, thread, retain.HoldOptions{By: "legal"})
					ok(err)
					p.held = true
				}
			}
		}
		const limit = time.Hour
		policy := retain.Policy{Finished: limit}
		dry, err := retain.Run(ctx, l, policy, &retain.Options{DryRun: true})
		ok(err)
		done, err := retain.Run(ctx, l, policy, nil)
		ok(err)
		if !slices.Equal(dry.FinishedThreads, done.FinishedThreads) || dry.Finished != done.Finished {
			t.Fatalf("the dry run said %v, and %v went", dry.FinishedThreads, done.FinishedThreads)
		}
		for thread, p := range threads {
			gone := slices.Contains(done.FinishedThreads, thread)
			if gone && p.needed(now, limit) {
				t.Fatalf("thread %s went: %+v at %s", thread, *p, now)
			}
			if !gone && !p.needed(now, limit+2*time.Minute) {
				t.Fatalf("thread %s stays: %+v at %s", thread, *p, now)
			}
			info, err := l.Thread(ctx, thread)
			if gone != (err != nil || info.Gone()) {
				t.Fatalf("thread %s: %+v, %v", thread, info, err)
			}
		}
	})
}

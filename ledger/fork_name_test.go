package ledger_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestUnnamedForksTakeTheFirstFreeName forks beside branches with names like
// those of unnamed forks, and some that only nearly do.
func TestUnnamedForksTakeTheFirstFreeName(t *testing.T) {
	ctx, l := context.Background(), open(t, nil)
	root := must.Get(l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{}}))(t).Checkpoint.ID
	for _, name := range []string{"fork-2", "fork-03", "fork-+3", "fork-", "fork-x", "fork-4", "fork-99999999999999999999", "fork--1", "a", "fork-7"} {
		must.Get(l.Fork(ctx, root, &ledger.ForkOptions{Branch: name}))(t)
	}
	for _, want := range []string{"fork-1", "fork-3", "fork-5", "fork-6", "fork-8", "fork-9", "fork-10", "fork-11"} {
		f := must.Get(l.Fork(ctx, root, nil))(t)
		if f.Branch != want {
			t.Errorf("the fork is %s, want %s", f.Branch, want)
		}
	}
}

// BenchmarkUnnamedFork makes forks of a thread that has so many.
func BenchmarkUnnamedFork(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ctx, l := context.Background(), open(b, nil)
			for i := 0; b.Loop(); i++ {
				b.StopTimer()
				thread := fmt.Sprint("t", i/20)
				if i%20 == 0 {
					if _, err := l.Commit(ctx, &ledger.Draft{Thread: thread, Checkpoint: &posthouse.Change{}}); err != nil {
						b.Fatal(err)
					}
				}
				h, err := l.Latest(ctx, ledger.LatestQuery{Thread: thread, Branch: posthouse.MainBranch})
				if err != nil {
					b.Fatal(err)
				}
				for j := 0; i%20 == 0 && j < n; j++ {
					if _, err := l.Fork(ctx, h.ID, nil); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				if _, err := l.Fork(ctx, h.ID, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

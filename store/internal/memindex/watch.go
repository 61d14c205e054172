package memindex

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/posthouse/posthouse"
)

// Watch yields the entries after the commit after, in commit order, and blocks for more
// until ctx ends. load makes an entry of the store's form of it, nil if it is gone. again,
// if set, wakes the watch too. Watch ends with an error.
func (ix *Index) Watch(ctx context.Context, after uint64, again func() <-chan struct{}, load func(*Entry) (*posthouse.Entry, error)) iter.Seq2[*posthouse.Entry, error] {
	return func(yield func(*posthouse.Entry, error) bool) {
		for {
			page, next, err := ix.watchPage(ctx, after)
			for _, e := range page {
				after = e.Commit
				var full *posthouse.Entry
				full, err = load(e)
				if err != nil {
					break
				}
				if full != nil && !yield(full, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if next == nil {
				continue
			}
			var other <-chan struct{}
			if again != nil {
				other = again()
			}
			select {
			case <-next:
			case <-other:
			case <-ctx.Done():
			}
		}
	}
}

// watchPage returns the entries after a commit, or a channel that is closed at the
// next commit.
func (ix *Index) watchPage(ctx context.Context, after uint64) (page []*Entry, next <-chan struct{}, err error) {
	if err := ix.refresh(ctx); err != nil {
		return nil, nil, err
	}
	ix.Lock()
	defer ix.Unlock()
	if err := ix.Usable(ctx); err != nil {
		return nil, nil, err
	}
	i, _ := slices.BinarySearchFunc(ix.commits, after+1, byCommit)
	for ; i < len(ix.commits) && len(page) < pageResults; i++ {
		if !ix.commits[i].Gone {
			page = append(page, ix.commits[i])
		}
	}
	if len(page) > 0 {
		return page, nil, nil
	}
	return nil, ix.news.Wait(), nil
}

func byCommit(e *Entry, commit uint64) int { return cmp.Compare(e.Commit, commit) }

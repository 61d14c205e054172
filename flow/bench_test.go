package flow_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

func counting(n int) *flow.Flow[int, int] {
	return flow.New("count", func(ctx context.Context, _ int) (sum int, err error) {
		for range n {
			v, err := step.Do(ctx, "one", func(context.Context) (int, error) { return 1, nil })
			if err != nil {
				return 0, err
			}
			sum += v
		}
		return sum, nil
	})
}

// One step of a flow: with a checkpoint of its own, and without.
func BenchmarkStep(b *testing.B) {
	for _, few := range []bool{false, true} {
		b.Run(fmt.Sprintf("few=%v", few), func(b *testing.B) {
			l := must.Get(ledger.Open(memstore.New(), nil))(b)
			a := must.Get(counting(b.N).Open(l, &flow.Options{FewCheckpoints: few}))(b)
			b.ReportAllocs()
			if _, err := a.Run(b.Context(), "t", 1); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// Going on with a flow that has many steps on record: linear in them.
func BenchmarkResume(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store := must.Get(sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "l.db"), &sqlitestore.Options{Sync: sqlitestore.SyncNormal}))(b)
			defer store.Close()
			f := flow.New("count", func(ctx context.Context, i int) (int, error) {
				for range n {
					if _, err := step.Do(ctx, "one", func(context.Context) (int, error) { return 1, nil }); err != nil {
						return 0, err
					}
				}
				return 0, errBoom
			})
			l := must.Get(ledger.Open(store, nil))(b)
			a := must.Get(f.Open(l, nil))(b)
			if _, err := a.Run(b.Context(), "t", 1); err == nil {
				b.Fatal("no failure")
			}
			b.ResetTimer()
			for range b.N {
				if _, err := a.Resume(b.Context(), "t"); err == nil {
					b.Fatal("no failure")
				}
			}
		})
	}
}

package pgstore_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// sequencer makes commits take the number of a row, as late as a transaction can: when it
// commits. They then wait for each other's sync.
const sequencer = `
	CREATE TABLE posthouse.sequencer (n bigint NOT NULL) WITH (fillfactor = 10);
	INSERT INTO posthouse.sequencer VALUES (0);
	CREATE FUNCTION posthouse.number() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN UPDATE posthouse.sequencer SET n = n + 1; RETURN NULL; END $$;
	CREATE CONSTRAINT TRIGGER numbered AFTER INSERT ON posthouse.entries
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION posthouse.number()`

// BenchmarkWatchOrder appends by as many stores at once, as processes do, with the order of
// a watch from snapshots of transactions, as it is, and from a sequencer, in rounds. The
// figure is the median ratio: above 1 snapshots are faster. See docs/adr/0005.
func BenchmarkWatchOrder(b *testing.B) {
	for _, writers := range []int{1, 2, 8, 32} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			const each = 100
			stores := make([]*pgstore.Store, writers)
			for i := range stores {
				stores[i] = open(b, pgstore.Options{MaxConns: 1, NoListen: true})
			}
			c, builder := connect(b, pgtest.URL(b)), storetest.NewBuilder()
			for _, statement := range []string{sequencer, "ALTER TABLE posthouse.entries DISABLE TRIGGER numbered"} {
				run(b, c, statement)
			}
			round := 0
			rate := func() float64 {
				round++
				batches := make([][]*posthouse.Batch, writers)
				for w := range batches {
					l := builder.Log(fmt.Sprintf("thread-%d-%d", round, w))
					for i := range each {
						batches[w] = append(batches[w], l.Next(l.Step(fmt.Sprint(i), []byte("result"))))
						l.Took(batches[w][i])
					}
				}
				return float64(writers*each) / servertest.Together(b, writers, func(w int) { servertest.AppendAll(b, stores[w], batches[w]) })
			}
			var ratios, snapshots, sequenced []float64
			for b.Loop() {
				one := rate()
				run(b, c, "ALTER TABLE posthouse.entries ENABLE TRIGGER numbered")
				other := rate()
				run(b, c, "ALTER TABLE posthouse.entries DISABLE TRIGGER numbered")
				ratios, snapshots, sequenced = append(ratios, one/other), append(snapshots, one), append(sequenced, other)
			}
			for unit, all := range map[string][]float64{"x-sequencer": ratios, "snapshot/s": snapshots, "sequencer/s": sequenced} {
				b.ReportMetric(servertest.Median(all), unit)
			}
		})
	}
}

// BenchmarkWatchDelay measures the time from an acknowledged append until a watch shows it:
// alone, and beside transactions of somebody else on the server that write and take 100 ms
// each, which is the price of an order from snapshots.
func BenchmarkWatchDelay(b *testing.B) {
	for _, neighbour := range []bool{false, true} {
		b.Run(fmt.Sprintf("neighbour=%v", neighbour), func(b *testing.B) {
			s, l := open(b, pgstore.Options{}), storetest.NewBuilder().Log("t")
			ctx, cancel := context.WithCancel(b.Context())
			var group sync.WaitGroup
			defer group.Wait()
			defer cancel()
			seen := make(chan time.Time, 1)
			group.Go(func() {
				for _, err := range s.Watch(ctx, "") {
					if err != nil {
						return
					}
					seen <- time.Now()
				}
			})
			if neighbour {
				c := connect(b, pgtest.URL(b))
				run(b, c, "CREATE TABLE IF NOT EXISTS posthouse.elsewhere (n int)")
				group.Go(func() {
					for ctx.Err() == nil { // the last one is rolled back with its connection
						_, _ = c.Exec(ctx, inSchema(b, "INSERT INTO posthouse.elsewhere VALUES (1)")+"; SELECT pg_sleep(0.1)")
					}
				})
			}
			var delays []float64
			for b.Loop() {
				batch := l.Next(l.Step("s", []byte("x")))
				if err := s.Append(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
				l.Took(batch)
				done := time.Now()
				delays = append(delays, max(0, (<-seen).Sub(done).Seconds()*1000))
			}
			b.ReportMetric(servertest.Median(delays), "median-ms")
			b.ReportMetric(slices.Max(delays), "most-ms")
		})
	}
}

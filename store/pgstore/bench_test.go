package pgstore_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/groupcommit"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// A baseline is one table, written through the driver and nothing of ours.
type baseline struct {
	b     *testing.B
	c     *pgx.Conn
	queue *groupcommit.Queue[baseRow]
}

type baseRow struct {
	thread, seq int64
	data        []byte
}

func openBase(b *testing.B) *baseline {
	base := &baseline{b: b, c: connect(b, pgtest.URL(b))}
	run(b, base.c, "CREATE TABLE IF NOT EXISTS posthouse.steps (thread bigint, seq bigint, data bytea, PRIMARY KEY (thread, seq))")
	base.queue = groupcommit.New(1024, func(baseRow) int { return 1 }, base.commit)
	return base
}

// insert writes one row in one round trip.
func (base *baseline) insert(thread, seq int64, data []byte) {
	run(base.b, base.c, "INSERT INTO posthouse.steps VALUES ($1, $2, $3)", thread, seq, data)
}

// commit writes the rows of all that wait with one statement.
func (base *baseline) commit(group []*groupcommit.Call[baseRow]) {
	var threads, seqs []int64
	var data [][]byte
	for _, c := range group {
		threads, seqs, data = append(threads, c.Work.thread), append(seqs, c.Work.seq), append(data, c.Work.data)
	}
	run(base.b, base.c, "INSERT INTO posthouse.steps SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])", threads, seqs, data)
}

// BenchmarkAppend appends steps of 1 KB to one thread, in rounds beside raw inserts.
func BenchmarkAppend(b *testing.B) {
	const perRound = 300
	s, base, builder := open(b, pgstore.Options{}), openBase(b), storetest.NewBuilder()
	state := servertest.State(1024)
	var ratios, ours []float64
	for round := int64(0); b.Loop(); round++ {
		batches := servertest.Batches(builder, fmt.Sprint("thread-", round), perRound, servertest.Same(state))
		us := servertest.Seconds(b, func() { servertest.AppendAll(b, s, batches) })
		them := servertest.Seconds(b, func() {
			for i := range batches {
				base.insert(round, int64(i), []byte(state))
			}
		})
		ratios, ours = append(ratios, them/us), append(ours, perRound/us)
	}
	servertest.Report(b, ratios, ours)
}

// BenchmarkAppendMany appends 10 steps to each of 1,000 threads at once.
func BenchmarkAppendMany(b *testing.B) {
	const threads, steps = 1000, 10
	s, base, builder := open(b, pgstore.Options{}), openBase(b), storetest.NewBuilder()
	state := servertest.State(200)
	var ratios, ours []float64
	for round := int64(0); b.Loop(); round++ {
		batches := make([][]*posthouse.Batch, threads)
		for t := range batches {
			batches[t] = servertest.Batches(builder, fmt.Sprintf("thread-%d-%d", round, t), steps, servertest.Same(state))
		}
		us := servertest.Together(b, threads, func(t int) { servertest.AppendAll(b, s, batches[t]) })
		them := servertest.Together(b, threads, func(t int) {
			for i := range steps {
				if err := base.queue.Do(b.Context(), baseRow{round*threads + int64(t), int64(i), []byte(state)}); err != nil {
					b.Error(err)
				}
			}
		})
		ratios, ours = append(ratios, them/us), append(ours, threads*steps/us)
	}
	servertest.Report(b, ratios, ours)
}

func BenchmarkStore(b *testing.B) { ledgertest.Bench(b, harness(b, pgstore.Options{}), nil) }

func BenchmarkOpen(b *testing.B) {
	ledgertest.BenchOpen(b, harness(b, pgstore.Options{}), 1000, 1_000_000)
}

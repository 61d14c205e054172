package natsstore_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
)

func benchState(n int) string {
	rnd, s := rand.New(rand.NewPCG(1, 2)), make([]byte, n)
	for i := range s {
		s[i] = "abcdefghijklmnopqrstuvwxyz ,.:"[rnd.IntN(30)]
	}
	return string(s)
}

func benchBatches(builder *storetest.Builder, thread string, n int, state string) []*posthouse.Batch {
	l, batches := builder.Log(thread), make([]*posthouse.Batch, n)
	h := posthouse.Header{Status: posthouse.StatusRunning, Run: "run-" + thread, Graph: "bench", Node: "work", Next: []string{"work"}}
	for i := range batches {
		batches[i] = l.Next(l.Checkpoint(h, state))
		l.Took(batches[i])
	}
	return batches
}

// took returns the seconds that something takes.
func took(fn func()) float64 {
	start := time.Now()
	fn()
	return time.Since(start).Seconds()
}

// baseline makes a bucket on a server that syncs each write, in this process.
func baseline(b *testing.B) jetstream.KeyValue {
	b.Helper()
	s, err := server.NewServer(&server.Options{ServerName: "base", JetStream: true, StoreDir: b.TempDir(), SyncAlways: true, DontListen: true, NoSigs: true, NoLog: true})
	if err != nil {
		b.Fatal(err)
	}
	s.Start()
	b.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		b.Fatal("the server does not start")
	}
	c, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	js, err := jetstream.New(c)
	if err != nil {
		b.Fatal(err)
	}
	kv, err := js.CreateKeyValue(b.Context(), jetstream.KeyValueConfig{Bucket: "base", History: 1})
	if err != nil {
		b.Fatal(err)
	}
	return kv
}

// BenchmarkAppend appends steps of 1 KB to one thread, in rounds beside a raw client that
// puts values of 1 KB to a bucket. Both servers are in this process and sync each write.
func BenchmarkAppend(b *testing.B) {
	const perRound = 200
	s, kv, builder := openAt(b, "nats:"+b.TempDir(), nil), baseline(b), storetest.NewBuilder()
	state := benchState(1024)
	var ratios, ours []float64
	for round := 0; b.Loop(); round++ {
		batches := benchBatches(builder, fmt.Sprint("thread-", round), perRound, state)
		us := took(func() {
			for _, batch := range batches {
				if err := s.Append(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
		})
		them := took(func() {
			for i := range batches {
				if _, err := kv.Put(b.Context(), fmt.Sprintf("thread-%d.%d", round, i), []byte(state)); err != nil {
					b.Fatal(err)
				}
			}
		})
		ratios, ours = append(ratios, them/us), append(ours, perRound/us)
	}
	slices.Sort(ratios)
	slices.Sort(ours)
	b.ReportMetric(ratios[len(ratios)/2], "x-baseline")
	b.ReportMetric(ours[len(ours)/2], "steps/s")
}

// BenchmarkRead reads where a thread ends, from a server elsewhere: one round trip to
// bring the index to the end of the log, and one for the entry.
func BenchmarkRead(b *testing.B) {
	s := openAt(b, startServer(b, b.TempDir()).ClientURL(), nil)
	take(b, s, storetest.NewBuilder().Log("a"))
	for b.Loop() {
		for _, err := range s.Threads(b.Context(), posthouse.ThreadQuery{Thread: "a"}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

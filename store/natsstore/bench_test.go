package natsstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/storetest"
)

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
	state := servertest.State(1024)
	var ratios, ours []float64
	for round := 0; b.Loop(); round++ {
		batches := servertest.Batches(builder, fmt.Sprint("thread-", round), perRound, servertest.Same(state))
		us := servertest.Seconds(b, func() { servertest.AppendAll(b, s, batches) })
		them := servertest.Seconds(b, func() {
			for i := range batches {
				if _, err := kv.Put(b.Context(), fmt.Sprintf("thread-%d.%d", round, i), []byte(state)); err != nil {
					b.Fatal(err)
				}
			}
		})
		ratios, ours = append(ratios, them/us), append(ours, perRound/us)
	}
	servertest.Report(b, ratios, ours)
}

// BenchmarkRead reads where a thread ends, from a server elsewhere: one round trip to
// bring the index to the end of the log, and one for the entry.
func BenchmarkRead(b *testing.B) {
	s := openAt(b, startServer(b, b.TempDir()).ClientURL(), nil)
	servertest.Take(b, s, storetest.NewBuilder().Log("a"))
	for b.Loop() {
		for _, err := range s.Threads(b.Context(), posthouse.ThreadQuery{Thread: "a"}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

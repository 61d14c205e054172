package s3store_test

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/store/internal/servertest"
	"github.com/posthouse/posthouse/store/s3store"
	"github.com/posthouse/posthouse/store/storetest"
)

// A raw client puts what an append puts, under the same condition, and nothing else.
type raw struct {
	core *minio.Core
	n    int
}

func newRaw(b *testing.B, server *s3test.Server) *raw {
	core, err := minio.NewCore(strings.TrimPrefix(server.Endpoint(), "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(s3test.AccessKey, s3test.SecretKey, ""), Region: "us-east-1", MaxRetries: 1,
	})
	if err != nil {
		b.Fatal(err)
	}
	return &raw{core: core}
}

func (r *raw) put(b *testing.B, data []byte) {
	r.n++
	opts := minio.PutObjectOptions{DisableContentSha256: true}
	opts.SetMatchETagExcept("*")
	sum, digest := md5.Sum(data), sha256.Sum256(data)
	if _, err := r.core.PutObject(b.Context(), "raw", fmt.Sprintf("log/%016x", r.n), bytes.NewReader(data), int64(len(data)),
		base64.StdEncoding.EncodeToString(sum[:]), hex.EncodeToString(digest[:]), opts); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAppend appends steps of 1 KB to one thread, in rounds beside a raw client that
// puts objects of the same size under the same condition.
func BenchmarkAppend(b *testing.B) {
	const perRound = 200
	server, builder := s3test.Start(), storetest.NewBuilder()
	defer server.Close()
	s, client := open(b, server, s3store.Options{}), newRaw(b, server)
	state := strings.Repeat("state of the work ", 57)
	var ratios, ours, requests []float64
	for round := 0; b.Loop(); round++ {
		batches := servertest.Batches(builder, fmt.Sprint("thread-", round), perRound, salted(state))
		server.Counts()
		us := servertest.Seconds(b, func() { servertest.AppendAll(b, s, batches) })
		requests = append(requests, float64(total(server.Counts()))/perRound)
		object := make([]byte, 1024+500)
		them := servertest.Seconds(b, func() {
			for range batches {
				client.put(b, object)
			}
		})
		ratios, ours = append(ratios, them/us), append(ours, perRound/us)
	}
	report(b, ratios, ours, requests)
}

// BenchmarkAppendMany appends 10 steps to each of 1,000 threads at once, beside a raw
// client that puts an object for each 100 of them.
func BenchmarkAppendMany(b *testing.B) {
	const threads, steps = 1000, 10
	server, builder := s3test.Start(), storetest.NewBuilder()
	defer server.Close()
	s, client := open(b, server, s3store.Options{}), newRaw(b, server)
	state := strings.Repeat("x", 200)
	var ratios, ours, requests []float64
	for round := 0; b.Loop(); round++ {
		batches := make([][]*posthouse.Batch, threads)
		for t := range batches {
			batches[t] = servertest.Batches(builder, fmt.Sprintf("thread-%d-%d", round, t), steps, salted(state))
		}
		server.Counts()
		us := servertest.Seconds(b, func() {
			var wg sync.WaitGroup
			for t := range threads {
				wg.Go(func() {
					for _, batch := range batches[t] {
						if err := s.Append(b.Context(), batch); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
		})
		requests = append(requests, float64(total(server.Counts()))/(threads*steps))
		object := make([]byte, 100*700)
		them := servertest.Seconds(b, func() {
			for range threads * steps / 100 {
				client.put(b, object)
			}
		})
		ratios, ours = append(ratios, them/us), append(ours, threads*steps/us)
	}
	report(b, ratios, ours, requests)
}

// BenchmarkTwoWriters appends through two stores at once, as two processes do that never
// pause, with a service that takes 20 ms to put.
func BenchmarkTwoWriters(b *testing.B) {
	const perRound = 20
	server, builder := s3test.Start(), storetest.NewBuilder()
	defer server.Close()
	server.SetLatency(20 * time.Millisecond)
	var stores [2]*s3store.Store
	for i := range stores {
		stores[i] = open(b, server, s3store.Options{})
	}
	var slowest, requests []float64
	for round := 0; b.Loop(); round++ {
		server.Counts()
		var all [2][]float64
		var wg sync.WaitGroup
		for i, s := range stores {
			batches := servertest.Batches(builder, fmt.Sprintf("thread-%d-%d", round, i), perRound, salted("state"))
			wg.Go(func() {
				for _, batch := range batches {
					all[i] = append(all[i], 1000*servertest.Seconds(b, func() {
						if err := s.Append(b.Context(), batch); err != nil {
							b.Error(err)
						}
					}))
				}
			})
		}
		wg.Wait()
		times := slices.Concat(all[0], all[1])
		slowest = append(slowest, slices.Max(times))
		requests = append(requests, float64(total(server.Counts()))/(2*perRound))
	}
	b.ReportMetric(servertest.Median(slowest), "slowest-ms")
	b.ReportMetric(servertest.Median(requests), "requests/append")
}

// salted returns a function that returns the state with another number before it each time.
func salted(state string) func() string {
	return func() string { return fmt.Sprint(rand.Int(), state) }
}

func total(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

func report(b *testing.B, ratios, ours, requests []float64) {
	servertest.Report(b, ratios, ours)
	b.ReportMetric(servertest.Median(requests), "requests/append")
}

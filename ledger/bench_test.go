package ledger_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
)

func BenchmarkCommit(b *testing.B) { benchmarkCommit(b, nil) }

// BenchmarkCommitSealed is BenchmarkCommit with a cipher.
func BenchmarkCommitSealed(b *testing.B) { benchmarkCommit(b, keyring(b, "k1")) }

func benchmarkCommit(b *testing.B, c posthouse.Cipher) {
	ctx, l := context.Background(), open(b, &ledger.Options{Cipher: c})
	data := bytes.Repeat([]byte("a"), 200)
	b.ReportAllocs()
	for i := range b.N {
		data[0], data[199] = byte(i), byte(i>>8)
		if _, err := l.Commit(ctx, &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Node: "n", Graph: "g", Next: []string{"n"},
			Parts: []posthouse.Part{{Name: "state", Codec: "raw", Data: data}},
		}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRunsAtOnce takes steps of runs while so many have a thread, and others
// end and begin: each operation is eight steps of eight runs, the end of another
// and the beginning of one more.
func BenchmarkRunsAtOnce(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchmarkRunsAtOnce(b, n) })
	}
}

func benchmarkRunsAtOnce(b *testing.B, n int) {
	ctx, l := context.Background(), open(b, nil)
	data := bytes.Repeat([]byte("a"), 200)
	step := func(c *ledger.Claim, s posthouse.Status) {
		if _, err := l.Commit(ctx, &ledger.Draft{Thread: c.Thread, Claim: c, Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: s, Node: "n", Graph: "g",
			Parts: []posthouse.Part{{Name: "state", Codec: "raw", Data: data}},
		}}); err != nil {
			b.Fatal(err)
		}
	}
	begun := 0
	begin := func() *ledger.Claim {
		begun++
		c, err := l.Claim(ctx, fmt.Sprint("t", begun), "run")
		if err != nil {
			b.Fatal(err)
		}
		step(c, posthouse.StatusRunning)
		return c
	}
	runs := make([]*ledger.Claim, n)
	for i := range runs {
		runs[i] = begin()
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for j := range 8 {
			data[0], data[199] = byte(i), byte(j)
			step(runs[(i*8+j)*7919%n], posthouse.StatusRunning)
		}
		at := i * 104729 % n
		step(runs[at], posthouse.StatusDone)
		if err := runs[at].Release(ctx); err != nil {
			b.Fatal(err)
		}
		runs[at] = begin()
	}
	b.StopTimer()
	for _, c := range runs {
		if err := c.Release(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

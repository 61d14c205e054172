package posthouse_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/posthouse/posthouse"
)

func BenchmarkCommit(b *testing.B) { benchmarkCommit(b, nil) }

// BenchmarkCommitSealed is BenchmarkCommit with a cipher.
func BenchmarkCommitSealed(b *testing.B) { benchmarkCommit(b, keyring(b, "k1")) }

func benchmarkCommit(b *testing.B, c posthouse.Cipher) {
	ctx, l := context.Background(), open(b, &posthouse.Options{Cipher: c})
	data := bytes.Repeat([]byte("a"), 200)
	b.ReportAllocs()
	for i := range b.N {
		data[0], data[199] = byte(i), byte(i>>8)
		if _, err := l.Commit(ctx, &posthouse.Draft{Thread: "t", Checkpoint: &posthouse.Change{
			Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Node: "n", Graph: "g", Next: []string{"n"},
			Parts: []posthouse.Part{{Name: "state", Codec: "raw", Data: data}},
		}}); err != nil {
			b.Fatal(err)
		}
	}
}

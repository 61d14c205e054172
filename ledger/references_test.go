package ledger_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
)

// TestReferencesInALargePart: results are found wherever they are in a part of
// megabytes, whatever they share with each other, and it reads back as it was.
func TestReferencesInALargePart(t *testing.T) {
	for name, result := range map[string]func(rnd *rand.Rand, i int) string{
		"random":               func(rnd *rand.Rand, i int) string { return noise(rnd, 64+i*7) },
		"one beginning":        func(rnd *rand.Rand, i int) string { return strings.Repeat("same ", 100) + noise(rnd, 500+i) },
		"short":                func(rnd *rand.Rand, i int) string { return noise(rnd, 64) },
		"within another":       func(_ *rand.Rand, i int) string { return noise(rand.New(rand.NewPCG(7, 7)), 64+i*9) },
		"nothing of their own": func(_ *rand.Rand, i int) string { return strings.Repeat("A", 900) + string(rune('a'+i%20)) },
	} {
		t.Run(name, func(t *testing.T) {
			rnd, l := rand.New(rand.NewPCG(1, 2)), open(t, nil)
			commit := func(d *ledger.Draft) *posthouse.Committed {
				d.Thread = "t"
				return must.Get(l.Commit(t.Context(), d))(t)
			}
			part := func(data []byte) *ledger.Draft {
				return &ledger.Draft{Checkpoint: &posthouse.Change{
					Kind: posthouse.KindNode, Status: posthouse.StatusRunning, Parts: []posthouse.Part{{Name: "p", Codec: "raw", Data: data}},
				}}
			}
			commit(part([]byte("begin")))
			var results []string
			var steps []posthouse.Step
			for i := range 200 {
				results = append(results, result(rnd, i))
				steps = append(steps, posthouse.Step{Task: "t", Name: fmt.Sprint(i), Value: posthouse.Value{Codec: "raw", Data: []byte(results[i])}})
			}
			commit(&ledger.Draft{Steps: steps})
			rnd.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
			var data []byte
			own := 0
			for _, r := range results {
				gap := noise(rnd, rnd.IntN(900))
				own += len(gap)
				data = append(append(data, gap...), r...)
			}
			done := commit(part(data))
			fresh := must.Get(ledger.Open(l.Store(), nil))(t)
			if got := must.Get(fresh.Get(t.Context(), done.Checkpoint.ID))(t); !bytes.Equal(got.State["p"].Data, data) {
				t.Fatal("the part reads otherwise")
			}
			if name == "within another" || name == "nothing of their own" {
				return // not all can be referred to, or need be found
			}
			for e, err := range l.Log(t.Context(), "t", posthouse.Range{From: done.Seq}) {
				if err != nil {
					t.Fatal(err)
				}
				if n := len(e.Bodies[0]); n != own {
					t.Errorf("the body has %d bytes, want the %d that are no result's", n, own)
				}
			}
		})
	}
}

func noise(rnd *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + rnd.IntN(90))
	}
	return string(b)
}

// BenchmarkReferences commits a part of 4 MiB after so many results: it shows the
// cost of looking for references.
func BenchmarkReferences(b *testing.B) {
	for _, n := range []int{0, 256} {
		b.Run(fmt.Sprint("results=", n), func(b *testing.B) {
			rnd := rand.New(rand.NewPCG(1, 2))
			data := []byte(noise(rnd, 4<<20))
			for i := range b.N {
				b.StopTimer()
				l, d := open(b, nil), &ledger.Draft{Thread: "t"}
				node := func() *ledger.Draft {
					return &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{Kind: posthouse.KindNode, Status: posthouse.StatusRunning}}
				}
				must.Get(l.Commit(b.Context(), node()))(b)
				for k := range n {
					d.Steps = append(d.Steps, posthouse.Step{Task: "t", Name: fmt.Sprint(k), Value: posthouse.Value{Codec: "raw", Data: []byte(noise(rnd, 1000))}})
				}
				if n > 0 {
					must.Get(l.Commit(b.Context(), d))(b)
				}
				data[i%len(data)]++
				with := node()
				with.Checkpoint.Parts = []posthouse.Part{{Name: "p", Codec: "raw", Data: data}}
				b.StartTimer()
				must.Get(l.Commit(b.Context(), with))(b)
			}
		})
	}
}

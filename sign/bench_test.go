package sign_test

import (
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/memstore"
)

// BenchmarkVerify verifies a thread of 10,000 messages of 1 KB and one of 64
// states of 1 MB.
func BenchmarkVerify(b *testing.B) {
	for name, c := range map[string]struct{ entries, size int }{"1KB": {10000, 1 << 10}, "1MB": {64, 1 << 20}} {
		b.Run(name, func(b *testing.B) {
			key, store := newKey(b), memstore.New()
			now := newClock().now
			l := openLedger(b, store, key, func() time.Time { now = now.Add(10 * time.Millisecond); return now })
			for i := range c.entries {
				data := []byte(strings.Repeat(string(rune('a'+i%26)), c.size))
				must.Get(l.Commit(b.Context(), &ledger.Draft{Thread: "t", Checkpoint: &posthouse.Change{
					Parts: []posthouse.Part{{Name: "m", Codec: "raw", Data: data}},
				}}))(b)
			}
			ring := ringOf(b, key)
			for b.Loop() {
				r := must.Get(sign.Verify(b.Context(), store, ring, nil))(b)
				if !r.OK() {
					b.Fatal(r.Faults)
				}
				b.SetBytes(r.Bytes)
			}
		})
	}
}

package posthouse

import (
	"errors"
	"testing"
	"time"
)

// TestSealedHeaders checks that there is one encoding: what has no body, or one
// that stays readable, cannot be marked as sealed.
func TestSealedHeaders(t *testing.T) {
	for name, r := range map[string]Record{
		"no body":   {Kind: RecordStep, Step: &StepInfo{Codec: "json", Branch: MainBranch}, Sealed: true},
		"a claim":   {Kind: RecordClaim, Claim: &ClaimInfo{}, Size: 1, Sealed: true},
		"a removal": {Kind: RecordRemoval, Removal: &RemovalInfo{}, Size: 1, Sealed: true},
	} {
		h := &entryHeader{time: time.UnixMilli(1), records: []Record{r}}
		if _, err := (&Entry{Seq: 1, Header: h.append(nil)}).Records(); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
}

// TestAStoryTakesFewBytes checks that what is told of a step without notes costs at most 12 bytes in
// its record and that of its checkpoint together, and nothing where there is nothing to tell.
func TestAStoryTakesFewBytes(t *testing.T) {
	size := func(took time.Duration, attempts int) int {
		h := &entryHeader{time: time.UnixMilli(1 << 40), records: []Record{
			{Kind: RecordStep, Step: &StepInfo{Task: "1/n", Name: "s", Codec: "json", Branch: MainBranch, Took: took, Attempts: attempts}},
			{Kind: RecordCheckpoint, Checkpoint: &Header{ID: "a", Order: OrderKey{1}, Branch: MainBranch, Kind: KindEvent, Took: took, Attempts: attempts}},
		}}
		return len(h.append(nil))
	}
	plain := size(0, 0)
	if n := size(999*time.Microsecond, 0); n != plain {
		t.Errorf("less than a millisecond takes %d bytes, want 0", n-plain)
	}
	for _, took := range []time.Duration{time.Millisecond, time.Second, time.Hour, 72 * time.Hour} {
		if n := size(took, 3) - plain; n > 12 {
			t.Errorf("%s takes %d bytes, want at most 12", took, n)
		}
	}
}

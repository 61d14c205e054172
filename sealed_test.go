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

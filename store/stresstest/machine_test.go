package stresstest_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

// forgetful is a store that forgets fences.
type forgetful struct{ storetest.Model }

func (s forgetful) Slot(ctx context.Context, key posthouse.SlotKey, op posthouse.SlotOp) (posthouse.Slot, error) {
	op.Fence = 0
	return s.Model.Slot(ctx, key, op)
}

// TestAHistoryThatFailsIsShortened wants the fault and not much else in the
// report, and the same report for the same seed.
func TestAHistoryThatFailsIsShortened(t *testing.T) {
	h := storetest.Harness{Seed: 7, Open: func(storetest.TB, string) posthouse.Store { return forgetful{storetest.NewModel()} }}
	var reports []string
	for range 2 {
		a := h.Try(t, stresstest.Cases()[0])
		if !a.Failed() {
			t.Fatal("a store that forgets fences passes")
		}
		reports = append(reports, a.Said())
	}
	if reports[0] != reports[1] {
		t.Errorf("the same seed gives\n%s\nand\n%s", reports[0], reports[1])
	}
	acts := regexp.MustCompile(`shortened from (\d+) acts to ([123]):`).FindStringSubmatch(reports[0])
	if acts == nil || !strings.Contains(reports[0], "seed 7") || !strings.Contains(reports[0], "slot: ") {
		t.Errorf("the report is\n%s", reports[0])
	}
}

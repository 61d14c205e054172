package storetest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
)

// TestAHistoryThatFailsIsShortened wants the fault and not much else in the
// report, and the same report for the same seed.
func TestAHistoryThatFailsIsShortened(t *testing.T) {
	h := Harness{Seed: 7, Open: func(TB, string) posthouse.Store {
		m := NewModel()
		return slotMutant{m, func(op posthouse.SlotOp, s *modelSlot) {
			if op.Verb == posthouse.SlotDelete {
				s.Fence = 0
			}
		}}
	}}
	var reports []string
	for range 2 {
		a := try(t, func(a *attempt) { h.run(a, machineCases()[0]) })
		if !a.Failed() {
			t.Fatal("a store that forgets fences passes")
		}
		reports = append(reports, a.said.String())
	}
	if reports[0] != reports[1] {
		t.Errorf("the same seed gives\n%s\nand\n%s", reports[0], reports[1])
	}
	acts := regexp.MustCompile(`shortened from (\d+) acts to ([123]):`).FindStringSubmatch(reports[0])
	if acts == nil || !strings.Contains(reports[0], "seed 7") || !strings.Contains(reports[0], "slot: ") {
		t.Errorf("the report is\n%s", reports[0])
	}
}

// TestTheSuiteRunsInACommand runs a case under a reporter that is no part of
// package testing and cannot run cases in parallel.
func TestTheSuiteRunsInACommand(t *testing.T) {
	var ran []string
	Run(&reporter{TB: t, ran: &ran}, Harness{Only: "append/", Open: func(TB, string) posthouse.Store { return NewModel() }})
	if len(ran) < 5 {
		t.Errorf("ran %q", ran)
	}
}

type reporter struct {
	TB
	ran *[]string
}

func (r *reporter) Run(name string, f func(*reporter)) bool {
	*r.ran = append(*r.ran, name)
	return !try(r.TB, func(a *attempt) { f(&reporter{TB: a, ran: r.ran}) }).Failed()
}

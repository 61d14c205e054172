package storetest

import (
	"testing"

	"github.com/posthouse/posthouse"
)

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
	return !Try(r.TB, func(a TB) { f(&reporter{TB: a, ran: r.ran}) }).Failed()
}

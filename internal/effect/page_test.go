package effect_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/effect"
)

// TestPageHasTheTable: the table of docs/approvals.md has each change of a state, and no other.
func TestPageHasTheTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "| State | Event | State then |\n|---|---|---|\n")
	table, _, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatal("docs/approvals.md has no table of states")
	}
	var want []string
	for s := effect.Licensed; s <= effect.GivenUp; s++ {
		for e := effect.Begins; e <= effect.GiveUp; e++ {
			if then := effect.Next(s, e); then != s {
				want = append(want, fmt.Sprintf("| %s | %s | %s |", s, e, then))
			}
		}
	}
	if want := strings.Join(want, "\n"); table != want {
		t.Errorf("docs/approvals.md has\n%s\nand the code\n%s", table, want)
	}
}

package threadlog_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/threadlog"
)

// TestEditsOfAForgedLog: a second gate with the id of the first cannot make a circle of edits,
// in which a search for what was opened in its place would not end.
func TestEditsOfAForgedLog(t *testing.T) {
	var e threadlog.Edits
	ask := func(id, supersedes posthouse.ID) {
		e.Add(&posthouse.Record{Gate: &posthouse.GateInfo{ID: id, Name: "pay", Kind: posthouse.GateApproval, Supersedes: supersedes}})
	}
	edit := func(id posthouse.ID) {
		e.Add(&posthouse.Record{Decision: &posthouse.DecideInfo{Gate: id, Verdict: posthouse.Edit}})
	}
	ask("a", "")
	edit("a")
	ask("b", "a")
	edit("b")
	ask("a", "b") // forged
	ask("b", "a") // forged
	if !e.Follows("b", "a") || e.Follows("a", "b") || e.Follows("c", "a") {
		t.Errorf("b follows a: %v, a follows b: %v, c follows a: %v; want only the first", e.Follows("b", "a"), e.Follows("a", "b"), e.Follows("c", "a"))
	}
	if by := e.By("b"); by != "" {
		t.Errorf("%s was opened in the place of b", by)
	}
}

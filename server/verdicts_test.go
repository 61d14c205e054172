package server

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// TestEachVerdictHasItsWays looks for the routes, the button and the words of each verdict that
// a gate may allow, and of those of unknown outcomes. A call of a tool that waits has none of the latter.
func TestEachVerdictHasItsWays(t *testing.T) {
	h := open(t, nil)
	served := map[string]bool{}
	for _, r := range h.server.routes {
		served[r.Path] = true
	}
	buttons, err := os.ReadFile("../ui/web/src/gate/actions.tsx")
	must.Do(t, err)
	for _, verdict := range slices.Concat(posthouse.GateVerdicts(), posthouse.SettleVerdicts()) {
		paths := []string{"/api/gates/{id}/" + string(verdict), "/api/checkpoints/{id}/" + string(verdict)}
		if verdict.Info().OnGate {
			paths = append(paths, "/api/approvals/{id}/"+verdict.Info().Tool)
		}
		for _, path := range paths {
			if !served[path] {
				t.Errorf("verdict %s has no route %s", verdict, path)
			}
		}
		if !strings.Contains(string(buttons), `verb: "`+string(verdict)+`"`) {
			t.Errorf("verdict %s has no button on the page", verdict)
		}
	}
	for _, verdict := range posthouse.ValueVerdicts() {
		bodies := []any{decideBody{}, tokenDecideBody{}}
		if verdict.Info().OnGate {
			bodies = append(bodies, approvalBody{})
		}
		for _, body := range bodies {
			f, _ := reflect.TypeOf(body).FieldByName("Value")
			if doc := f.Tag.Get("doc"); !strings.Contains(doc, " of "+string(verdict)) {
				t.Errorf("%T does not say what the value of %s is: %s", body, verdict, doc)
			}
		}
	}
}

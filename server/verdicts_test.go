package server

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// TestEachVerdictHasItsWays looks for the routes, the button and the words of each verdict that
// a gate may allow.
func TestEachVerdictHasItsWays(t *testing.T) {
	h := open(t, nil)
	served := map[string]bool{}
	for _, r := range h.server.routes {
		served[r.Path] = true
	}
	buttons, err := os.ReadFile("../ui/web/src/gate/actions.tsx")
	must.Do(t, err)
	for _, verdict := range posthouse.GateVerdicts() {
		for _, path := range []string{"/api/gates/{id}/" + string(verdict), "/api/checkpoints/{id}/" + string(verdict), "/api/approvals/{id}/" + verdict.Info().Tool} {
			if !served[path] {
				t.Errorf("verdict %s has no route %s", verdict, path)
			}
		}
		if !strings.Contains(string(buttons), `verb: "`+string(verdict)+`"`) {
			t.Errorf("verdict %s has no button on the page", verdict)
		}
	}
	for _, verdict := range posthouse.ValueVerdicts() {
		for _, body := range []any{decideBody{}, approvalBody{}, tokenDecideBody{}} {
			f, _ := reflect.TypeOf(body).FieldByName("Value")
			if doc := f.Tag.Get("doc"); !strings.Contains(doc, " of "+string(verdict)) {
				t.Errorf("%T does not say what the value of %s is: %s", body, verdict, doc)
			}
		}
	}
}

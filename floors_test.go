package posthouse_test

import (
	"strconv"
	"strings"
	"testing"
)

// TestFloors keeps the floors of internal/ apart: base knows nothing of threads, and
// nothing that ships imports the proof.
func TestFloors(t *testing.T) {
	proof := func(pkg string) bool {
		return strings.HasPrefix(pkg, "internal/proof/") || pkg == "store/lineartest" // a suite that no binary links
	}
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			rel, ours := inModule(imp)
			if !ours {
				continue
			}
			if strings.HasPrefix(f.pkg, "internal/base/") && !strings.HasPrefix(rel, "internal/base/") {
				t.Errorf("%s: internal/base imports %s: it knows nothing of threads", f.at(spec.Pos()), imp)
			}
			if proof(rel) && !proof(f.pkg) {
				t.Errorf("%s: %s imports %s: nothing that ships imports the proof", f.at(spec.Pos()), f.pkg, imp)
			}
		}
	}
}

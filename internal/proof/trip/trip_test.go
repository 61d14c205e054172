package trip_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/posthouse/posthouse/internal/proof/trip"
)

// enters fails the test if a call enters more functions, or functions in more files, than it may.
// Counted are those in packages below some folders.
func enters(t *testing.T, maxFunctions, maxFiles int, run func(t *testing.T, call bool), folders ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a binary with counters")
	}
	all := []string{"dispatch/...", "graph/...", "internal/engine/...", "ledger", "internal/commit", "internal/core"} // for all tests, which share what is built
	files := trip.Of(t, func(call bool) { synctest.Test(t, func(t *testing.T) { run(t, call) }) }, all...)
	if files == nil {
		return // this is what is counted
	}
	maps.DeleteFunc(files, func(file string, _ []string) bool {
		return !slices.ContainsFunc(folders, func(folder string) bool { return strings.HasPrefix(file, folder+"/") })
	})
	n := 0
	for _, file := range slices.Sorted(maps.Keys(files)) {
		n += len(files[file])
		t.Logf("%-40s %v", file, files[file])
	}
	t.Logf("%d functions in %d files", n, len(files))
	if n > maxFunctions || len(files) > maxFiles {
		t.Errorf("the call enters %d functions in %d files of %v; it may enter %d in %d", n, len(files), folders, maxFunctions, maxFiles)
	}
}

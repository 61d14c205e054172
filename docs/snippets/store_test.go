package snippets_test

import (
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/store/storetest"
)

func open(t testing.TB, path string) posthouse.Store {
	s, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func prove() (func(*testing.T), func(*testing.B)) {
	//doc:prove
	harness := storetest.Harness{
		Open:    func(t testing.TB, dir string) posthouse.Store { return open(t, filepath.Join(dir, "db")) },
		Durable: true,
	}
	TestStore := func(t *testing.T) { storetest.Run(t, harness) }
	BenchmarkStore := func(b *testing.B) { storetest.Bench(b, harness) }
	//doc:end
	return TestStore, BenchmarkStore
}

// TestProveIsAProof keeps the snippet in use; the stores' own tests run it.
func TestProveIsAProof(t *testing.T) {
	if run, bench := prove(); run == nil || bench == nil {
		t.Error("the snippet proves nothing")
	}
}

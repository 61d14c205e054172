package snippets_test

import (
	"path/filepath"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/lineartest"
	"github.com/posthouse/posthouse/store/sqlitestore"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

func open(t storetest.TB, path string) posthouse.Store {
	s, err := sqlitestore.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func prove() (tests []func(*testing.T), bench func(*testing.B)) {
	//doc:prove
	harness := storetest.Harness{
		Open:    func(t storetest.TB, dir string) posthouse.Store { return open(t, filepath.Join(dir, "db")) },
		Durable: true,
	}
	TestStore := func(t *testing.T) { storetest.Run(t, harness) }
	TestStress := func(t *testing.T) { stresstest.Run(t, harness) }
	TestLinearizable := func(t *testing.T) { lineartest.Run(t, harness) }
	TestLedger := func(t *testing.T) { ledgertest.Run(t, harness, nil) }
	BenchmarkStore := func(b *testing.B) { ledgertest.Bench(b, harness, nil) }
	//doc:end
	return []func(*testing.T){TestStore, TestStress, TestLinearizable, TestLedger}, BenchmarkStore
}

// TestProveIsAProof keeps the snippet in use; the stores' own tests run it.
func TestProveIsAProof(t *testing.T) {
	if tests, bench := prove(); len(tests) != 4 || bench == nil {
		t.Error("the snippet proves nothing")
	}
}

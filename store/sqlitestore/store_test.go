package sqlitestore_test

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

func harness() storetest.Harness {
	return storetest.Harness{
		Open: func(t storetest.TB, dir string) posthouse.Store {
			s, err := sqlitestore.Open(t.Context(), filepath.Join(dir, "posthouse.db"), nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Durable: true,
	}
}

func TestStore(t *testing.T) { storetest.Run(t, harness()) }

func TestStress(t *testing.T) { stresstest.Run(t, harness()) }

func TestLinearizable(t *testing.T) { lineartest.Run(t, harness()) }

func TestLedger(t *testing.T) {
	if testing.Short() {
		t.Skip("the Ledger over a store in memory has the same rules")
	}
	ledgertest.Run(t, harness(), nil)
}

func BenchmarkStore(b *testing.B) { ledgertest.Bench(b, harness(), nil) }

func BenchmarkOpen(b *testing.B) { ledgertest.BenchOpen(b, harness(), 1000, 1_000_000) }

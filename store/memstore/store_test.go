package memstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/lineartest"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var harness = storetest.Harness{
	Open: func(storetest.TB, string) posthouse.Store { return memstore.New() },
}

func TestStore(t *testing.T) { storetest.Run(t, harness) }

func TestStress(t *testing.T) { stresstest.Run(t, harness) }

func TestLinearizable(t *testing.T) { lineartest.Run(t, harness) }

func TestLedger(t *testing.T) { ledgertest.Run(t, harness, nil) }

func BenchmarkStore(b *testing.B) { ledgertest.Bench(b, harness, nil) }

package memstore_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var harness = storetest.Harness{
	Open: func(storetest.TB, string) posthouse.Store { return memstore.New() },
}

func TestStore(t *testing.T) { storetest.Run(t, harness) }

func TestLedger(t *testing.T) { ledgertest.Run(t, harness, nil) }

func BenchmarkStore(b *testing.B) { ledgertest.Bench(b, harness, nil) }

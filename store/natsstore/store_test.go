package natsstore_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/lineartest"
	"github.com/posthouse/posthouse/store/natsstore"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		child(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// harness has a server in this process for each directory.
func harness() storetest.Harness {
	return storetest.Harness{
		Open: func(t storetest.TB, dir string) posthouse.Store {
			s, err := natsstore.Open(t.Context(), "nats:"+dir, natsstore.Options{}.Lazy())
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Durable: true,
		Short:   true, // each case has a server of its own; POSTHOUSE_LONG=1 runs it whole
	}
}

func TestStore(t *testing.T) { storetest.Run(t, harness()) }

func TestStress(t *testing.T) { stresstest.Run(t, harness()) }

func TestLinearizable(t *testing.T) { lineartest.Run(t, harness()) }

func TestLedger(t *testing.T) {
	if testing.Short() {
		t.Skip("the Ledger over a server repeats what it does over SQLite")
	}
	ledgertest.Run(t, harness(), nil)
}

func BenchmarkOpen(b *testing.B) { ledgertest.BenchOpen(b, harness(), 1000, 1_000_000) }

package redisstore_test

import (
	"fmt"
	"hash/fnv"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/lineartest"
	"github.com/posthouse/posthouse/store/redisstore"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(redistest.Main(m)) }

// harness has a prefix for each directory.
func harness(t testing.TB) storetest.Harness {
	url := redistest.URL(t)
	return storetest.Harness{
		Open: func(t storetest.TB, dir string) posthouse.Store {
			s, err := redisstore.Open(t.Context(), url, &redisstore.Options{Prefix: prefixOf(dir)})
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Durable: true,
		Short:   true, // each write is a sync; POSTHOUSE_LONG=1 runs it whole
	}
}

func prefixOf(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("test:%x", h.Sum64())
}

func TestStore(t *testing.T) { storetest.Run(t, harness(t)) }

func TestStress(t *testing.T) { stresstest.Run(t, harness(t)) }

func TestLinearizable(t *testing.T) { lineartest.Run(t, harness(t)) }

func TestLedger(t *testing.T) {
	if testing.Short() {
		t.Skip("the Ledger over a server repeats what it does over SQLite")
	}
	ledgertest.Run(t, harness(t), nil)
}

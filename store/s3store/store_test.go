package s3store_test

import (
	"fmt"
	"hash/fnv"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/s3test"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/lineartest"
	"github.com/posthouse/posthouse/store/s3store"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serverEnv names the server of the parent, for the processes that the suite starts.
const serverEnv = "S3STORE_TEST_ENDPOINT"

// options are those of a store on a server of s3test.
func options(o s3store.Options) *s3store.Options {
	o.AccessKey, o.SecretKey = s3test.AccessKey, s3test.SecretKey
	return &o
}

// harness has a prefix for each directory, on one server, which other processes reach too.
func harness(t testing.TB) storetest.Harness {
	endpoint := os.Getenv(serverEnv)
	if endpoint == "" {
		endpoint = s3test.New(t).Endpoint()
		t.Setenv(serverEnv, endpoint)
	}
	return storetest.Harness{
		Open: func(t storetest.TB, dir string) posthouse.Store {
			s, err := s3store.Open(t.Context(), "s3://tests/"+prefixOf(dir)+"?endpoint="+endpoint, options(s3store.Options{}))
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Durable: true,
		Short:   true, // each call is a request or more; POSTHOUSE_LONG=1 runs it whole
	}
}

func prefixOf(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("test-%x", h.Sum64())
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

func BenchmarkOpen(b *testing.B) { ledgertest.BenchOpen(b, harness(b), 1000, 100_000) }

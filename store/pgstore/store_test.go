package pgstore_test

import (
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/lineartest"
	"github.com/posthouse/posthouse/store/pgstore"
	"github.com/posthouse/posthouse/store/storetest"
	"github.com/posthouse/posthouse/store/stresstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// harness has a schema for each directory.
func harness(t testing.TB, o pgstore.Options) storetest.Harness {
	url := pgtest.URL(t)
	return storetest.Harness{
		Open: func(t storetest.TB, dir string) posthouse.Store {
			o := o
			o.Schema = schemaOf(dir)
			s, err := pgstore.Open(t.Context(), url, &o)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Durable: true,
		Short:   true, // each write is a sync; POSTHOUSE_LONG=1 runs it whole
	}
}

func schemaOf(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf("test_%x", h.Sum64())
}

func TestStore(t *testing.T) { storetest.Run(t, harness(t, pgstore.Options{})) }

func TestStress(t *testing.T) { stresstest.Run(t, harness(t, pgstore.Options{})) }

func TestLinearizable(t *testing.T) { lineartest.Run(t, harness(t, pgstore.Options{})) }

// TestPooledStore runs the cases of the contract that a pooler of transactions may affect:
// writes and watches. Queries are the same as without; POSTHOUSE_LONG=1 runs them, too.
func TestPooledStore(t *testing.T) {
	themes := []string{"append", "bulk", "remove", "slots", "watch"}
	if os.Getenv("POSTHOUSE_LONG") != "" {
		themes = append(themes, "boundary", "ids", "list", "names", "read", "threads")
	}
	cases := slices.DeleteFunc(storetest.Cases(), func(c storetest.Case) bool {
		theme, _, _ := strings.Cut(c.Name, "/")
		return !slices.Contains(themes, theme)
	})
	storetest.RunCases(t, harness(t, pgstore.Options{Pooler: true}), cases)
}

func TestLedger(t *testing.T) {
	if testing.Short() {
		t.Skip("the Ledger over a store in memory has the same rules")
	}
	ledgertest.Run(t, harness(t, pgstore.Options{}), nil)
}

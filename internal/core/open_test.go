package core_test

import (
	"testing"

	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// open returns a ledger over an empty store.
func open(t testing.TB, o *ledger.Options) *ledger.Ledger {
	t.Helper()
	return must.Get(ledger.Open(memstore.New(), o))(t)
}

package ledger_test

import (
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger/ledgertest"
	"github.com/posthouse/posthouse/store/memstore"
	"github.com/posthouse/posthouse/store/storetest"
)

// TestLedgerRules runs what the Ledger promises on the store in memory; every
// other store runs the same cases in its own package.
func TestLedgerRules(t *testing.T) {
	ledgertest.Run(t, storetest.Harness{
		Open: func(storetest.TB, string) posthouse.Store { return memstore.New() }, Only: "ledger/",
	}, nil)
}

// TestLedgerRulesWithACipher runs them again with everything sealed.
func TestLedgerRulesWithACipher(t *testing.T) {
	ledgertest.Run(t, storetest.Harness{
		Open: func(storetest.TB, string) posthouse.Store { return memstore.New() }, Only: "ledger/",
	}, &ledgertest.Options{Cipher: keyring(t, "k1")})
}

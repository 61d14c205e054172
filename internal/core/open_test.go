package core_test

import (
	"testing"

	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/memstore"
)

// open returns a ledger over an empty store.
func open(t testing.TB, o *ledger.Options) *ledger.Ledger {
	t.Helper()
	return must[*ledger.Ledger](t)(ledger.Open(memstore.New(), o))
}

// must fails the test for an error, and else passes the value on.
func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

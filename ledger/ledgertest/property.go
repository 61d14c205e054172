package ledgertest

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse/ledger/ledgertest/internal/desk"
	"github.com/posthouse/posthouse/store/storetest"
)

// checkProperty checks a property with most random inputs, or with few if the harness says
// Short. It numbers the runs from 1.
func checkProperty(t *desk.T, few, most int, holds func(rt *rapid.T, run int)) {
	n, passed, enough := 0, 0, most
	if t.Harness.Short {
		enough = few
	}
	rapid.Check(property{t.TB}, func(rt *rapid.T) {
		if n++; n <= enough || passed < n-1 { // once one failed, rapid shortens it
			holds(rt, n)
		}
		passed++
	})
}

// A property is a test for rapid. It skips nothing.
type property struct{ storetest.TB }

func (p property) Log(args ...any)                  { p.Logf("%s", fmt.Sprint(args...)) }
func (p property) Fail()                            { p.Error() }
func (p property) FailNow()                         { p.Fatal() }
func (p property) SkipNow()                         { p.Fatal("a rule was skipped") }
func (p property) Skip(args ...any)                 { p.Fatal(args...) }
func (p property) Skipf(format string, args ...any) { p.Fatalf(format, args...) }

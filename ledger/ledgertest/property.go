package ledgertest

import (
	"fmt"

	"github.com/posthouse/posthouse/store/storetest"
)

// A property is a test for rapid. It skips nothing.
type property struct{ storetest.TB }

func (p property) Log(args ...any)                  { p.Logf("%s", fmt.Sprint(args...)) }
func (p property) Fail()                            { p.Error() }
func (p property) FailNow()                         { p.Fatal() }
func (p property) SkipNow()                         { p.Fatal("a rule was skipped") }
func (p property) Skip(args ...any)                 { p.Fatal(args...) }
func (p property) Skipf(format string, args ...any) { p.Fatalf(format, args...) }

package storetest

import (
	"context"
	"flag"
	"os"

	"github.com/posthouse/posthouse"
)

// TB is what the suite needs of a test. *testing.T and *testing.B have it, and a
// command can bring its own: the suite does not link package testing.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	TempDir() string // empty, and removed when the test ends
	Cleanup(f func())
	Logf(format string, args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any) // ends the goroutine, as runtime.Goexit does
	Fatalf(format string, args ...any)
	Failed() bool
}

// A Runner is a TB with subtests of its own type, such as *testing.T. Run reports whether
// the subtest passed. The suite calls the method Parallel of a Runner that has it, in
// each case.
type Runner[R any] interface {
	TB
	Run(name string, f func(R)) bool
}

// A T is what one case uses: a test, an empty store, and a builder of entries.
type T struct {
	TB
	Harness Harness
	Store   posthouse.Store
	Builder *Builder

	ctx context.Context
	dir string
}

// Context returns the case's context, which ends some minutes after the case
// began.
func (t *T) Context() context.Context { return t.ctx }

// Dir returns the directory of the case's store.
func (t *T) Dir() string { return t.dir }

// OpenStore opens the store of a directory. It is closed when the case ends.
func (t *T) OpenStore(dir string) posthouse.Store {
	t.Helper()
	s := t.Harness.Open(t.TB, dir)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// Fresh opens one more empty store. It is closed when the case ends.
func (t *T) Fresh() posthouse.Store {
	t.Helper()
	dir, err := os.MkdirTemp(t.dir, "store-")
	t.OK(err)
	return t.OpenStore(dir)
}

// Again returns what one more test of the case uses: tb, an empty store in a directory
// that goes when that test ends, and a new builder.
func (t *T) Again(tb TB) *T {
	dir, err := os.MkdirTemp(t.dir, "again-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			tb.Errorf("cleaning up: %v", err)
		}
	})
	e := &T{TB: tb, Harness: t.Harness, Builder: NewBuilder(), ctx: t.ctx, dir: dir}
	e.Store = e.OpenStore(dir)
	return e
}

// OK stops the case if err is not nil.
func (t *T) OK(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testFlag returns the value of a flag of package testing, "" if that is not linked.
func testFlag(name string) string {
	if f := flag.Lookup("test." + name); f != nil {
		return f.Value.String()
	}
	return ""
}

package must

import "errors"

// TB is what a test gives.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Get returns the value of a call. The function that it returns ends the test if the call failed.
func Get[T any](v T, err error) func(TB) T {
	return func(t TB) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Do ends the test if there is an error.
func Do(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("it failed: %v", err)
	}
}

// Fail ends the test unless the error is the one that is wanted.
func Fail(t TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("the error is %v; want %v", err, want)
	}
}

package task_test

import (
	"reflect"
	"testing"

	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/internal/handler"
	"github.com/posthouse/posthouse/task"
)

// TestUsesAndWaitsAreThoseOfHandlers compares the fields of what workers send with what engines
// put on record of it, and the bounds of both.
func TestUsesAndWaitsAreThoseOfHandlers(t *testing.T) {
	for _, c := range []struct{ sent, recorded reflect.Type }{
		{reflect.TypeFor[task.Use](), reflect.TypeFor[handler.Use]()},
		{reflect.TypeFor[task.Wait](), reflect.TypeFor[handler.Wait]()},
	} {
		if sent, recorded := fieldsOf(c.sent), fieldsOf(c.recorded); !reflect.DeepEqual(sent, recorded) {
			t.Errorf("%s has the fields %q, and %s %q", c.sent, sent, c.recorded, recorded)
		}
	}
	if task.MaxInput != handler.MaxInput {
		t.Errorf("the input of a task may have %d bytes, and engines take %d", task.MaxInput, handler.MaxInput)
	}
	if task.MaxPause != backoff.Longest {
		t.Errorf("a task may pause for %s, and engines take %s", task.MaxPause, backoff.Longest)
	}
}

func fieldsOf(t reflect.Type) (all []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		all = append(all, f.Name+" "+string(f.Tag))
	}
	return all
}

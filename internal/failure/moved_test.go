package failure_test

import (
	"context"
	"errors"
	"testing"

	"github.com/posthouse/posthouse/internal/failure"
	"github.com/posthouse/posthouse/runs"
)

// TestMovedTypesKeepTheirRecordedNames: records name the packages in which these types were when
// they were first recorded, and are found by the types of today.
func TestMovedTypesKeepTheirRecordedNames(t *testing.T) {
	remote := `{"error":"posthouse: x","wraps":[{"type":"*github.com/posthouse/posthouse/internal/failure.RemoteError","text":"task a failed in attempt 2 at w: no","json":{"Task":"a","Gate":"g","Worker":"w","Attempts":2,"Reason":"no","Unknown":false}}]}`
	f, err := failure.Decode("charge", []byte(remote))
	if err != nil {
		t.Fatal(err)
	}
	have, ok := errors.AsType[*runs.RemoteError](error(f))
	if !ok || have.Task != "a" || have.Attempts != 2 {
		t.Errorf("a RemoteError of an earlier version is read as %+v, %v", have, ok)
	}
	timeout := `{"error":"late","deadline":true,"wraps":[{"type":"*github.com/posthouse/posthouse/internal/engine.TimeoutError","json":{"Node":"n","After":5,"Idle":false,"Abandoned":false}}]}`
	f, err = failure.Decode("charge", []byte(timeout))
	if err != nil {
		t.Fatal(err)
	}
	late, ok := errors.AsType[*runs.TimeoutError](error(f))
	if !ok || late.Node != "n" || !errors.Is(f, context.DeadlineExceeded) {
		t.Errorf("a TimeoutError of an earlier version is read as %+v, %v", late, ok)
	}
	again, err := failure.Decode("charge", failure.Encode(f))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := errors.AsType[*runs.TimeoutError](error(again)); !ok {
		t.Errorf("a failure that is recorded again reads as %v", again)
	}
}

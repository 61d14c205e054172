package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
)

// That a program went on past a failure is on record before all that follows,
// also before steps at once: a replay would otherwise find one of them where it
// asks for the step that failed.
func TestFailureIsOnRecordBeforeStepsAtOnce(t *testing.T) {
	task := &Task{}
	failed := &failedCall{mark: posthouse.Step{Name: "failed"}, err: posthouse.ErrInvalid, ordered: true, received: true}
	task.made().failures = []*failedCall{failed}
	var overtook atomic.Bool
	var both sync.WaitGroup
	record := func(commit func(before []posthouse.Step)) {
		both.Go(func() {
			_ = task.recordWith(&call{after: after{before: []*failedCall{failed}}}, func(before []posthouse.Step) (bool, error) {
				commit(before)
				return true, nil
			})
		})
	}
	record(func(before []posthouse.Step) {
		record(func([]posthouse.Step) { overtook.Store(true) })
		for range 1000 {
			runtime.Gosched()
		}
		if len(before) != 1 || overtook.Load() {
			t.Errorf("it brings %d failures, and another was on record first: %v", len(before), overtook.Load())
		}
	})
	both.Wait()
	if !overtook.Load() {
		t.Error("the other is not on record")
	}
}

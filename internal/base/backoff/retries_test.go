package backoff_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse/internal/base/backoff"
)

func TestRetriesWaitLongerEachTime(t *testing.T) {
	const first, most = 5 * time.Millisecond, 500 * time.Millisecond
	r := backoff.NewRetries(first, most)
	for i := range 100 {
		want := min(first<<min(i, 10), most)
		if have := r.Wait(); have < want/2 || have > want || r.Tries != i+1 {
			t.Errorf("wait %d is %s, want between %s and %s; %d are counted", i+1, have, want/2, want, r.Tries)
		}
	}
	r.Reset()
	if have := r.Wait(); have < first/2 || have > first {
		t.Errorf("after Reset the wait is %s, want between %s and %s", have, first/2, first)
	}
}

func TestRetriesEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := backoff.Retries{Waits: backoff.Waits{First: time.Second, Most: time.Minute}}
		begin := time.Now()
		if !r.Next(t.Context()) || time.Since(begin) != time.Second {
			t.Errorf("the first wait took %s, want 1s", time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r.Next(ctx) || time.Since(begin) != 2*time.Second {
			t.Errorf("a wait of 2s whose context ends after 1s went on for %s", time.Since(begin)-time.Second)
		}
	})
}

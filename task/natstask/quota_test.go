package natstask

import (
	"fmt"
	"testing"
	"time"
)

// TestLettersOfManyNames: what is known of names is bounded, and goes after an hour.
func TestLettersOfManyNames(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	q := newQuota(func() time.Time { return now })
	kept := 0
	for range 2 * maxLetters {
		if q.take("loud") {
			kept++
		}
	}
	if kept != maxLetters {
		t.Errorf("%d of one worker", kept)
	}
	for i := range 100_000 {
		if q.take(fmt.Sprint("w", i)) {
			kept++
		}
	}
	if kept != maxAllLetters || len(q.by) > maxAllLetters {
		t.Errorf("%d of all, of %d names", kept, len(q.by))
	}
	now = now.Add(quotaTime)
	if !q.take("loud") || len(q.by) != 1 {
		t.Errorf("after an hour %d names are known", len(q.by))
	}
	now = now.Add(-24 * time.Hour) // a clock that was set back
	if !q.take("quiet") || len(q.by) != 1 {
		t.Errorf("%d names", len(q.by))
	}
}

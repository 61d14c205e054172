package posthouse_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
)

// TestTaskLimitsOnRecord: limits that say nothing of a strategy are written as before there
// was one, and read so.
func TestTaskLimitsOnRecord(t *testing.T) {
	for text, l := range map[string]posthouse.TaskLimits{
		`{}`: {},
		`{"attempts":2,"backoff":1000000000,"maxBackoff":60000000000}`: {RetryPolicy: posthouse.RetryPolicy{MaxAttempts: 2, InitialDelay: time.Second, MaxDelay: time.Minute}},
		`{"strategy":"linear"}`:             {RetryPolicy: posthouse.RetryPolicy{Backoff: posthouse.Linear}},
		`{"strategy":"fixed","jitter":0.5}`: {RetryPolicy: posthouse.RetryPolicy{Backoff: posthouse.Fixed, Jitter: 0.5}},
	} {
		if b, err := json.Marshal(l); err != nil || string(b) != text {
			t.Errorf("%s, %v, want %s", b, err, text)
		}
		var back posthouse.TaskLimits
		if err := json.Unmarshal([]byte(text), &back); err != nil || back != l {
			t.Errorf("%s: back %+v, error %v", text, back, err)
		}
	}
}

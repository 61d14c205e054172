package refund

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// An Effect is what the approver does to the world: a line of JSON.
type Effect struct {
	Key        string    `json:"key"` // the same whenever the same refund is tried again
	Request    string    `json:"request,omitempty"`
	ApprovedBy string    `json:"approvedBy,omitempty"`
	At         time.Time `json:"at"`
}

// Effects carries refunds out, each key once. An error fails the approver; the
// request can be resumed and tries again with the same key.
type Effects func(ctx context.Context, e Effect) error

// LogEffects appends each effect to a file, once for each key. A process that
// dies between the effect and its record finds the line when it tries again. The
// file has mode 0600 and is synced after each line.
func LogEffects(path string) Effects {
	var mu sync.Mutex
	return func(_ context.Context, e Effect) (err error) {
		mu.Lock()
		defer mu.Unlock()
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		have, err := io.ReadAll(f)
		if err != nil || done(have, e.Key) {
			return err
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if n := len(have); n > 0 && have[n-1] != '\n' {
			line = append([]byte{'\n'}, line...) // the last line was cut short
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
		return f.Sync()
	}
}

// LogKeys is LogEffects without the request and the approver. A file beside an
// encrypted store has keys and times alone.
func LogKeys(path string) Effects {
	log := LogEffects(path)
	return func(ctx context.Context, e Effect) error { return log(ctx, Effect{Key: e.Key, At: e.At}) }
}

// done reports whether a whole line has the key.
func done(lines []byte, key string) bool {
	for line := range bytes.Lines(lines) {
		var e Effect
		if json.Unmarshal(line, &e) == nil && e.Key == key {
			return true
		}
	}
	return false
}

package threadlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
)

// A PutBack is the value of [posthouse.SignalPutBack]: the state to which the store was put back.
type PutBack struct {
	To time.Time `json:"to"` // the newest entry that the store had then
}

// ErrPutBack is wrapped by the errors of [PutBack.Error].
var ErrPutBack = errors.New("this may have been done since")

// Error says what that means for what was asked and approved before.
func (p *PutBack) Error() error {
	return fmt.Errorf("the store was put back to %s: %w", p.To.UTC().Format(time.RFC3339), ErrPutBack)
}

// PutBack returns what the newest mark of a thread says.
func (l *Logs) PutBack(ctx context.Context, info *posthouse.ThreadInfo) (*PutBack, error) {
	s, err := l.Reader(ctx, info.Thread).Signal(info.NewestSignal(posthouse.SignalPutBack))
	if err != nil {
		return nil, err
	}
	p := &PutBack{}
	if err := json.Unmarshal(s.Value, p); err != nil {
		return nil, posthouse.Corrupt("the mark %s at entry %d of thread %q does not decode: %v", posthouse.SignalPutBack, s.Seq, info.Thread, err)
	}
	return p, nil
}

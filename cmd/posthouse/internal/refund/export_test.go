package refund

import (
	"context"
	"encoding/json"
	"io"
	"sync"
)

// WriteEffects writes each effect to w as a line. It does not look at keys.
func WriteEffects(w io.Writer) Effects {
	var mu sync.Mutex
	return func(_ context.Context, e Effect) error {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		_, err = w.Write(append(line, '\n'))
		return err
	}
}

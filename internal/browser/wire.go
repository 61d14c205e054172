package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/coder/websocket"
)

// maxMessage bounds one message of the browser, in bytes.
const maxMessage = 64 << 20

// A wire carries calls to the browser and their answers. Events are dropped.
type wire struct {
	conn *websocket.Conn
	done chan struct{} // closed when nothing is read any more

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
}

type answer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

func newWire(conn *websocket.Conn) *wire {
	w := &wire{conn: conn, done: make(chan struct{}), waiting: map[int]chan answer{}}
	conn.SetReadLimit(maxMessage)
	go w.read()
	return w
}

func (w *wire) read() {
	defer close(w.done)
	for {
		_, data, err := w.conn.Read(context.Background())
		if err != nil {
			return
		}
		var m struct {
			ID int
			answer
		}
		if json.Unmarshal(data, &m) != nil {
			return
		}
		w.mu.Lock()
		to := w.waiting[m.ID]
		delete(w.waiting, m.ID)
		w.mu.Unlock()
		if to != nil {
			to <- m.answer
		}
	}
}

// call sends a method of the protocol to a session, "" for the browser itself,
// and reads what it answers into result, if that is not nil.
func (w *wire) call(ctx context.Context, session, method string, params, result any) error {
	to := make(chan answer, 1)
	w.mu.Lock()
	w.last++
	id := w.last
	w.waiting[id] = to
	w.mu.Unlock()
	message := map[string]any{"id": id, "method": method, "params": params}
	if session != "" {
		message["sessionId"] = session
	}
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if err := w.conn.Write(ctx, websocket.MessageText, data); err != nil {
		return err
	}
	select {
	case a := <-to:
		switch {
		case a.Error != nil:
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(a.Result, result)
	case <-w.done:
		return errors.New("the browser is gone")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *wire) close() {
	_ = w.conn.CloseNow() // nothing more is asked of it
	<-w.done
}

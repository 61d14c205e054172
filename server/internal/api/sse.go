package api

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/posthouse/posthouse/server/internal/limit"
)

const (
	HeartbeatInterval = 15 * time.Second // between comments or pings on a silent stream
	WriteTimeout      = 30 * time.Second // for one write to a client that reads slowly
	retryMillis       = 2000             // how long an EventSource waits before it connects again
)

// An EventStream writes server-sent events.
type EventStream struct {
	w    http.ResponseWriter // its Recorder knows the form of values
	rc   *http.ResponseController
	wall func() time.Time
}

// NewEventStream begins an event stream. From here on errors are events. wall is
// the clock of the connection's deadlines; unread bounds what its client does not read.
func NewEventStream(w http.ResponseWriter, wall func() time.Time, unread *limit.Unread) (*EventStream, error) {
	recorder(w).Unread = unread
	es := &EventStream{w, http.NewResponseController(w), wall}
	_ = es.rc.SetReadDeadline(time.Time{}) // the body was read, so its deadline does not matter any more
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return es, es.write([]byte("retry: " + strconv.Itoa(retryMillis) + "\n\n"))
}

// Send writes one event. JSON has no line breaks, so data is one line; id must
// not have any either.
func (es *EventStream) Send(id, event string, data any) error {
	body, err := Encode(es.w, data)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	b.WriteString("event: " + event + "\ndata: ")
	b.Write(body)
	b.WriteString("\n\n")
	return es.write(b.Bytes())
}

// ID sends an id without an event: a client goes on from it if it loses the stream before the first one.
func (es *EventStream) ID(id string) error { return es.write([]byte("id: " + id + "\n\n")) }

// Heartbeat keeps proxies from closing a silent stream. It fails if the client is gone.
func (es *EventStream) Heartbeat() error { return es.write([]byte(":\n\n")) }

func (es *EventStream) write(p []byte) error {
	_ = es.rc.SetWriteDeadline(es.wall().Add(WriteTimeout)) // not supported by test recorders, which never block
	if _, err := es.w.Write(p); err != nil {
		return err
	}
	return es.rc.Flush()
}

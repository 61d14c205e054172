package server

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

const (
	heartbeat     = 15 * time.Second // between comments or pings on a silent stream
	writePatience = 30 * time.Second // for one write to a client that reads slowly
	retryMillis   = 2000             // how long an EventSource waits before it connects again
)

// An eventStream writes server-sent events.
type eventStream struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	wall func() time.Time
}

// openStream begins an event stream. From here on errors are events.
func (s *Server) openStream(w http.ResponseWriter) (*eventStream, error) {
	es := &eventStream{w, http.NewResponseController(w), s.wall}
	_ = es.rc.SetReadDeadline(time.Time{}) // the body was read: what is over now is no error
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return es, es.write([]byte("retry: " + strconv.Itoa(retryMillis) + "\n\n"))
}

// send writes one event. JSON has no line breaks, so data is one line; id must
// have none either.
func (es *eventStream) send(id, event string, data any) error {
	body, err := json.Marshal(data)
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

// beat keeps proxies from closing a silent stream, and finds out who is gone.
func (es *eventStream) beat() error { return es.write([]byte(":\n\n")) }

func (es *eventStream) write(p []byte) error {
	_ = es.rc.SetWriteDeadline(es.wall().Add(writePatience)) // not supported by test recorders, which never block
	if _, err := es.w.Write(p); err != nil {
		return err
	}
	return es.rc.Flush()
}

package api

import (
	"cmp"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse/server/internal/limit"
)

// A Recorder collects what the log line of a request says.
type Recorder struct {
	http.ResponseWriter
	Status int // that went out; 0: not yet
	Route  *Route
	Actor  string // the name of the token
	Err    error
	Unread *limit.Unread // what counts and bounds what is being written; nil: nothing does
	Made   func()        // called before the first byte goes out: the answer is made; may be nil

	Verbatim bool // values on record are strings in the answer

	held    *Held       // nil: the answer goes out as it is made
	stopped atomic.Bool // a write was given up
}

// A Held is an answer that has not gone out yet. Its headers are those of the writer.
type Held struct {
	Status int // 0: there is no answer yet
	Body   []byte
}

// HoldBack has the answer stay here until it is sent. It does nothing for a writer that is no
// Recorder.
func HoldBack(w http.ResponseWriter) *Held {
	rec := recorder(w)
	rec.held = &Held{}
	return rec.held
}

// Send sends what was held back, and holds back no more.
func (h *Held) Send(w http.ResponseWriter) {
	rec := recorder(w)
	if rec.held != h {
		return
	}
	rec.held = nil
	if h.Status == 0 {
		return
	}
	rec.WriteHeader(h.Status)
	_, _ = rec.Write(h.Body) // the client may be gone
}

// countedFrom is the size from which a write is counted, in bytes: less is in the buffers
// of the connection.
const countedFrom = 4 << 10

// WriteHeader implements [http.ResponseWriter].
func (w *Recorder) WriteHeader(status int) {
	if w.held != nil {
		w.held.Status = cmp.Or(w.held.Status, status)
		return
	}
	w.made()
	if w.Status == 0 && status >= 200 || status == http.StatusSwitchingProtocols {
		w.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *Recorder) Write(p []byte) (int, error) {
	if w.held != nil {
		w.held.Status = cmp.Or(w.held.Status, http.StatusOK)
		w.held.Body = append(w.held.Body, p...)
		return len(p), nil
	}
	w.made()
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
	if w.Unread != nil && len(p) >= countedFrom {
		defer w.Unread.Begin(w.Actor, len(p), w.stop)()
	}
	if w.stopped.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	return w.ResponseWriter.Write(p)
}

func (w *Recorder) made() {
	if made := w.Made; made != nil {
		w.Made = nil
		made()
	}
}

// stop gives up the write that waits for the client, and those to come.
func (w *Recorder) stop() {
	w.stopped.Store(true)
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Unix(1, 0)) // not supported by test recorders, which never block
}

// Unwrap lets http.ResponseController and WebSocket reach the connection.
func (w *Recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recorder returns the Recorder that w is, or one that is thrown away.
func recorder(w http.ResponseWriter) *Recorder {
	if rec, ok := w.(*Recorder); ok {
		return rec
	}
	return new(Recorder)
}

// NoteMade has fn called once the answer is made, before the first byte of it goes out. It does
// nothing for a writer that is no Recorder.
func NoteMade(w http.ResponseWriter, fn func()) { recorder(w).Made = fn }

// NoteValues says in which form the answer has values on record.
func NoteValues(w http.ResponseWriter, r *Request) { recorder(w).Verbatim = r.verbatim() }

// NoteRoute tells the log line which route the request took.
func NoteRoute(w http.ResponseWriter, r *Route) { recorder(w).Route = r }

// NoteActor tells the log line who sent the request.
func NoteActor(w http.ResponseWriter, name string) { recorder(w).Actor = name }

// NoteError tells the log line what failed.
func NoteError(w http.ResponseWriter, err error) { recorder(w).Err = err }

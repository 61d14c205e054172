package api

import (
	"net/http"
)

// A Recorder collects what the log line of a request says.
type Recorder struct {
	http.ResponseWriter
	Status int // that went out; 0: none yet
	Route  *Route
	Actor  string // the name of the token
	Err    error
}

// WriteHeader implements [http.ResponseWriter].
func (w *Recorder) WriteHeader(status int) {
	if w.Status == 0 && status >= 200 || status == http.StatusSwitchingProtocols {
		w.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *Recorder) Write(p []byte) (int, error) {
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController and WebSocket reach the connection.
func (w *Recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// recorder returns the Recorder that w is, or one that nobody reads.
func recorder(w http.ResponseWriter) *Recorder {
	if rec, ok := w.(*Recorder); ok {
		return rec
	}
	return new(Recorder)
}

// NoteRoute tells the log line which route the request took.
func NoteRoute(w http.ResponseWriter, r *Route) { recorder(w).Route = r }

// NoteActor tells the log line who sent the request.
func NoteActor(w http.ResponseWriter, name string) { recorder(w).Actor = name }

// NoteError tells the log line what failed.
func NoteError(w http.ResponseWriter, err error) { recorder(w).Err = err }

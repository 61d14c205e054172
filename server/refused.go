package server

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// refusedPerSecond bounds how many lines of refused credentials the log gets. Who tries
// many does not fill a disk.
const refusedPerSecond = 10

// refused logs credentials that were not accepted, as warnings, so that they are seen at
// the default level. A line says where from and for whom, never what was sent.
type refused struct {
	log  *slog.Logger
	wall func() time.Time

	mu      sync.Mutex
	since   time.Time // when the second began
	lines   int       // of this second
	skipped int       // that the next line counts
}

// note logs one. name is the owner of a token that expired; "" if nobody has it.
func (f *refused) note(r *http.Request, name, why string) {
	f.mu.Lock()
	now := f.wall()
	if d := now.Sub(f.since); d >= time.Second || d < 0 {
		f.since, f.lines = now, 0
	}
	if f.lines++; f.lines > refusedPerSecond {
		f.skipped++
		f.mu.Unlock()
		return
	}
	skipped := f.skipped
	f.skipped = 0
	f.mu.Unlock()
	attrs := []any{"from", r.RemoteAddr, "method", r.Method, "why", why}
	if name != "" {
		attrs = append(attrs, "token", name)
	}
	if skipped > 0 {
		attrs = append(attrs, "more", skipped)
	}
	f.log.Warn("an access token was refused", attrs...)
}

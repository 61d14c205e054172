package stream

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/feed"
	"github.com/posthouse/posthouse/server/internal/limit"
)

// Streams are the answers that stay open: event streams, WebSockets, and claims of workers
// that wait.
type Streams struct {
	Quota           *limit.Quota           // their places
	Unauthenticated *limit.Unauthenticated // WebSockets that have not sent their token yet
	Unread          *limit.Unread          // bytes of events
	Life            *limit.Lifetime        // they end with its Context

	Tick func(time.Duration) (<-chan time.Time, func()) // makes a ticker; nil: one of package time
}

// Open begins an event stream.
func (st *Streams) Open(w http.ResponseWriter) (*api.EventStream, error) {
	return api.NewEventStream(w, time.Now, st.Unread)
}

// Heartbeat returns a ticker for heartbeats. Call stop once the stream is over.
func (st *Streams) Heartbeat() (tick <-chan time.Time, stop func()) {
	if st.Tick != nil {
		return st.Tick(api.HeartbeatInterval)
	}
	t := time.NewTicker(api.HeartbeatInterval)
	return t.C, t.Stop
}

// Pump writes a call's frames to a client until the last one, with heartbeats in
// between. It returns whether the client is still there.
func (st *Streams) Pump(ctx context.Context, l *feed.Listener, write func(feed.Frame) error, heartbeat func() error) bool {
	tick, stop := st.Heartbeat()
	defer stop()
	return l.Pump(ctx, tick, write, heartbeat)
}

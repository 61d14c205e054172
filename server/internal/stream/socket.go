package stream

import (
	"context"
	"net/http"

	"github.com/coder/websocket"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// socketSink sends events over a WebSocket.
type socketSink struct {
	ctx    context.Context // of the connection
	conn   *websocket.Conn
	w      http.ResponseWriter // its Recorder knows the form of values
	text   bool                // only texts are sent
	unread *limit.Unread
	actor  string
}

// socket answers with a WebSocket that events go out on.
func (ev *Events) socket(w http.ResponseWriter, r *api.Request) error {
	if !api.IsUpgrade(r.Request) {
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		return &posthouse.Error{Code: problem.CodeUpgrade, Message: "this path speaks WebSocket only", Hint: "GET /api/events has the same as server-sent events"}
	}
	if r.Actor.Name == "" {
		return ev.Auth.Unauthenticated(tokens.Token{}) // no message of the client is read, so a token cannot come in one
	}
	f, _, end, err := ev.begin(w, r)
	if err != nil {
		return err
	}
	defer end()
	conn, err := websocket.Accept(w, r.Request, &websocket.AcceptOptions{Subprotocols: []string{api.SocketProtocol}}) // the origin was checked before
	if err != nil {
		api.NoteError(w, err) // Accept has answered
		return nil
	}
	defer func() {
		if ev.Streams.Life.Context().Err() != nil {
			_ = conn.Close(websocket.StatusGoingAway, "the server is shutting down") // if it is still there
		}
		_ = conn.CloseNow() // the reason, if any, was given
	}()
	// The request's own context means nothing once the connection is ours. A reader that is cancelled
	// closes it without a reason, so it reads until the end.
	ctx, cancel := context.WithCancel(ev.Streams.Life.Context())
	defer cancel()
	defer context.AfterFunc(conn.CloseRead(context.Background()), cancel)()
	f.to = &socketSink{ctx, conn, w, r.Query["frames"] == "text", ev.Streams.Unread, r.Actor.Name}
	ev.relay(ctx, f)
	if ctx.Err() == nil {
		_ = conn.Close(websocket.StatusNormalClosure, "the stream has ended")
	}
	return nil
}

func (s *socketSink) begin(cursor string) error { return s.send(&Event{Kind: "begin", Cursor: cursor}) }

func (s *socketSink) send(e *Event) error {
	var body []byte
	var err error
	switch {
	case !s.text:
		body, err = api.Encode(s.w, e)
	case e.Message != nil:
		body = []byte(e.Message.Text)
	case e.Error != nil && e.Cursor == "":
		body = []byte("error: " + e.Error.Detail)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), api.WriteTimeout) // a write that is cut short ends the connection
	defer cancel()
	defer s.unread.Begin(s.actor, len(body), cancel)()
	return s.conn.Write(ctx, websocket.MessageText, body)
}

func (s *socketSink) heartbeat() error {
	ctx, cancel := context.WithTimeout(s.ctx, api.HeartbeatInterval)
	defer cancel()
	return s.conn.Ping(ctx)
}

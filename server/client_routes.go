package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/tokens"
)

// Headers that name a client's session. Atmosphere's clients send the second.
const (
	sessionHeader   = "X-Posthouse-Session"
	sessionHeaderOf = "X-Atmosphere-Session-Token"
)

var (
	sessionParam   = api.Param{Name: "session", Kind: api.TextParam, Help: "the client's session, as in the header " + sessionHeader + "; new for a new one"}
	sessionParamOf = api.Param{Name: sessionHeaderOf, Kind: api.TextParam, Help: "the same, for clients of Atmosphere that cannot set headers"}
)

// A SessionInfo is a client's session, with where its workflow stands now.
type SessionInfo struct {
	Token       string            `json:"token" doc:"to be sent in the header X-Posthouse-Session"`
	New         bool              `json:"new" doc:"nothing was restored: the token was unknown, expired, another's or new"`
	Rooms       []string          `json:"rooms,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	Thread      string            `json:"thread,omitempty" doc:"the line of work"`
	Status      posthouse.Status  `json:"status,omitempty" doc:"of the thread"`
	Checkpoint  posthouse.ID      `json:"checkpoint,omitempty" doc:"its newest checkpoint"`
	Gate        posthouse.ID      `json:"gate,omitempty" doc:"the question it waits for"`
	Run         string            `json:"run,omitempty" doc:"the request that an agent works on there, of the same sender; GET /api/run takes it up"`
	LastEventID string            `json:"lastEventId,omitempty" doc:"where its events go on"`
	CreatedAt   time.Time         `json:"createdAt" doc:"when it began"`
	LastSeen    time.Time         `json:"lastSeen" doc:"when it was last restored or saved"`
}

type sessionBody struct {
	Rooms    []string          `json:"rooms,omitempty" doc:"at most 100, of 200 bytes each"`
	Metadata map[string]string `json:"metadata,omitempty" doc:"at most 100 names, and 16 KiB together"`
	Thread   string            `json:"thread,omitempty" doc:"the line of work; as it was unless given"`
}

func (s *Server) clientRoutes() []*api.Route {
	const path = "/api/session"
	const notes = "The header X-Posthouse-Session, also X-Atmosphere-Session-Token, or the parameter names the session. " +
		"One that is unknown, expired or another's is a new session, never an error. It ends when its client was not connected, and it was not used, for 24 hours."
	answers := []api.Answer{{Status: http.StatusOK, Help: "the session", Body: SessionInfo{}, Media: ""}}
	return []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "Restore or begin a session", Handle: s.getSession,
			Notes: notes, Query: []api.Param{sessionParam, sessionParamOf}, Answers: answers,
		},
		{
			Method: http.MethodPut, Path: path, Role: tokens.Viewer, Summary: "Save a session", Handle: api.Take(s.putSession),
			Notes: notes, Query: []api.Param{sessionParam, sessionParamOf}, Body: sessionBody{}, Answers: answers,
		},
		{
			Method: http.MethodDelete, Path: path, Role: tokens.Viewer, Summary: "End a session", Handle: s.deleteSession,
			Query: []api.Param{sessionParam, sessionParamOf}, Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is gone", Body: nil, Media: ""}},
		},
	}
}

// A client is the session of one request or connection; nil has none.
type client struct {
	s     *Server
	token string
	new   bool
	session.Session

	touched time.Time // when its session was last found to be in use
}

// sessionToken returns the token of the session that a client asks for.
func sessionToken(r *api.Request) (token string, given bool) {
	for _, name := range []string{sessionHeader, sessionHeaderOf} {
		if vs := r.Header.Values(name); len(vs) > 0 {
			return vs[0], true
		}
	}
	for _, p := range []*api.Param{&sessionParam, &sessionParamOf} {
		if r.Has(p.Name) {
			return r.Query[p.Name], true
		}
	}
	return "", false
}

// client restores the session that a client asks for, or begins one; nil if it
// asks for none.
func (s *Server) client(ctx context.Context, r *api.Request, principal string) (*client, error) {
	token, given := sessionToken(r)
	if !given {
		return nil, nil
	}
	return s.openClient(ctx, token, principal)
}

// restoreSession restores the session that a client asks for and sets its token
// in the answer. It returns nil if the client asks for none.
func (s *Server) restoreSession(w http.ResponseWriter, r *api.Request) (*client, *SessionInfo, error) {
	who, err := s.client(r.Context(), r, r.Actor.Name)
	if who == nil || err != nil {
		return nil, nil, err
	}
	i, err := who.info(r.Context())
	if err != nil {
		return nil, nil, err
	}
	w.Header().Set(sessionHeader, who.token)
	return who, i, nil
}

func (s *Server) openClient(ctx context.Context, token, principal string) (c *client, err error) {
	s.sweepClients()
	var x *session.Session
	if token != "" && len(token) <= session.MaxToken {
		if x, err = s.clients.Restore(ctx, token, principal); err != nil {
			return nil, err
		}
	}
	c = &client{s: s, token: token, new: x == nil, touched: s.now()}
	if x == nil {
		c.token, x, err = s.clients.Create(ctx, principal)
	} else {
		err = s.clients.Update(ctx, token, func(*session.Session) {})
	}
	if err != nil {
		return nil, err
	}
	c.Session = *x
	return c, nil
}

// sweepClients removes expired sessions in the background, at most once a minute.
func (s *Server) sweepClients() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.clients.Due() {
		return
	}
	s.running.Go(func() {
		if _, err := s.clients.RemoveExpired(s.ctx); err != nil && !errors.Is(err, context.Canceled) {
			s.log.Error("expired sessions cannot be removed", "error", err)
		}
	})
}

// info returns what the client gets back, with where its thread is now.
func (c *client) info(ctx context.Context) (*SessionInfo, error) {
	i := &SessionInfo{
		Token: c.token, New: c.new, Rooms: c.Rooms, Metadata: c.Metadata, Thread: c.Thread, Checkpoint: c.Checkpoint, Gate: c.Gate, LastEventID: c.Cursor,
		CreatedAt: c.CreatedAt, LastSeen: c.LastSeen,
	}
	if c.Thread == "" {
		return i, nil
	}
	i.Run = c.s.runs.working(c.Thread, c.Principal)
	t, err := c.s.ledger.Thread(ctx, c.Thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		return i, nil // not begun yet, released or deleted: the session has the last that is known
	}
	if err != nil {
		return nil, err
	}
	i.Status, i.Gate = t.Status, ""
	if b, ok := t.Branch(""); ok {
		i.Checkpoint = b.Head
	}
	for g, err := range c.s.ledger.Gates(ctx, ledger.GateQuery{Thread: c.Thread, Limit: 1}) {
		if g == nil {
			return nil, err
		}
		i.Gate = g.ID
	}
	return i, nil
}

// updateSession changes the session on record, also after the client has gone.
func (c *client) updateSession(change func(*session.Session)) {
	if c == nil {
		return
	}
	if err := c.s.clients.Update(context.WithoutCancel(c.s.ctx), c.token, change); err != nil {
		c.s.log.Error("a session cannot be saved", "error", err)
	}
}

// keepAlive notes that the client is connected, so that its session does not end.
// It writes at most 24 times in the time that a session is kept.
func (c *client) keepAlive() {
	if c == nil || c.s.now().Sub(c.touched) < c.s.limits.Client/24 {
		return
	}
	c.touched = c.s.now()
	c.updateSession(func(*session.Session) {})
}

// working notes the thread that a message is worked on.
func (c *client) working(thread string) {
	c.updateSession(func(x *session.Session) { x.Thread, x.Checkpoint, x.Gate = thread, "", "" })
}

// replied notes where a reply left the thread.
func (c *client) replied(r *Reply) {
	c.updateSession(func(x *session.Session) { x.Thread, x.Checkpoint, x.Gate = r.Thread, r.Checkpoint, r.Gate })
}

// saw notes the last event that was sent.
func (c *client) saw(cursor string) {
	if cursor != "" {
		c.updateSession(func(x *session.Session) { x.Cursor = cursor })
	}
}

func (s *Server) getSession(w http.ResponseWriter, r *api.Request) error {
	token, _ := sessionToken(r)
	c, err := s.openClient(r.Context(), token, r.Actor.Name)
	if err != nil {
		return err
	}
	return c.show(w, r)
}

func (c *client) show(w http.ResponseWriter, r *api.Request) error {
	i, err := c.info(r.Context())
	if err != nil {
		return err
	}
	w.Header().Set(sessionHeader, c.token)
	return api.WriteJSON(w, http.StatusOK, i)
}

func (s *Server) putSession(w http.ResponseWriter, r *api.Request, b *sessionBody) error {
	if err := b.validate(); err != nil {
		return err
	}
	token, _ := sessionToken(r)
	c, err := s.openClient(r.Context(), token, r.Actor.Name)
	if err != nil {
		return err
	}
	err = s.clients.Update(r.Context(), c.token, func(x *session.Session) {
		x.Rooms, x.Metadata = b.Rooms, b.Metadata
		if b.Thread != "" && b.Thread != x.Thread {
			x.Thread, x.Checkpoint, x.Gate = b.Thread, "", ""
		}
		c.Session = *x
	})
	if err != nil {
		return err
	}
	return c.show(w, r)
}

func (b *sessionBody) validate() error {
	text := func(s string, limit int) bool { return len(s) <= limit && !strings.ContainsFunc(s, unicode.IsControl) }
	if len(b.Rooms) > 100 {
		return posthouse.Invalid("rooms", "are more than 100")
	}
	for _, room := range b.Rooms {
		if room == "" || !text(room, posthouse.MaxID) {
			return posthouse.Invalid("rooms", "%.40q must be 1 to %d bytes of text without control characters", room, posthouse.MaxID)
		}
	}
	if len(b.Metadata) > 100 {
		return posthouse.Invalid("metadata", "has more than 100 names")
	}
	size := 0
	for k, v := range b.Metadata {
		if size += len(k) + len(v); k == "" || !text(k, posthouse.MaxID) || size > 16<<10 {
			return posthouse.Invalid("metadata", "must have names of 1 to %d bytes of text, and 16 KiB together", posthouse.MaxID)
		}
	}
	if b.Thread != "" {
		return posthouse.ValidateName("thread", b.Thread)
	}
	return nil
}

func (s *Server) deleteSession(w http.ResponseWriter, r *api.Request) error {
	token, _ := sessionToken(r)
	if token != "" && len(token) <= session.MaxToken {
		x, err := s.clients.Restore(r.Context(), token, r.Actor.Name)
		if err == nil && x != nil {
			err = s.clients.Remove(r.Context(), token)
		}
		if err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

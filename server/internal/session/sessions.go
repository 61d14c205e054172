package session

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/tokens"
)

// Headers that name a client's session. Atmosphere's clients send the second.
const (
	Header           = "X-Posthouse-Session"
	AtmosphereHeader = "X-Atmosphere-Session-Token"
)

const param = "session"

// Params are the parameters that name a session where headers cannot be set.
func Params() []api.Param {
	return []api.Param{
		{Name: param, Kind: api.TextParam, Help: "the client's session, as in the header " + Header + "; new for a new one"},
		{Name: AtmosphereHeader, Kind: api.TextParam, Help: "the same, for clients of Atmosphere that cannot set headers"},
	}
}

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

// Sessions are /api/session: what a client gets back when it connects again.
type Sessions struct {
	Store   *Store
	Ledger  *ledger.Ledger
	Running func(thread, principal string) string // the request that an agent works on there, or ""
	Life    *limit.Lifetime
	Log     *slog.Logger
	Now     func() time.Time
	TTL     time.Duration // how long one is kept that is not used
}

// Routes are the routes of sessions.
func (ss *Sessions) Routes() []*api.Route {
	const path = "/api/session"
	const notes = "The header X-Posthouse-Session, also X-Atmosphere-Session-Token, or the parameter names the session. " +
		"One that is unknown, expired or another's is a new session, never an error. It ends when its client was not connected, and it was not used, for 24 hours."
	answers := []api.Answer{{Status: http.StatusOK, Help: "the session", Body: SessionInfo{}, Media: ""}}
	return []*api.Route{
		{
			Method: http.MethodGet, Path: path, Role: tokens.Viewer, Summary: "Restore or begin a session", Handle: ss.get,
			Notes: notes, Query: Params(), Answers: answers,
		},
		{
			Method: http.MethodPut, Path: path, Role: tokens.Viewer, Summary: "Save a session", Handle: api.Take(ss.put),
			Notes: notes, Query: Params(), Body: sessionBody{}, Answers: answers,
		},
		{
			Method: http.MethodDelete, Path: path, Role: tokens.Viewer, Summary: "End a session", Handle: ss.delete,
			Query: Params(), Answers: []api.Answer{{Status: http.StatusNoContent, Help: "it is gone", Body: nil, Media: ""}},
		},
	}
}

// sessionToken returns the token of the session that a client asks for.
func sessionToken(r *api.Request) (token string, given bool) {
	for _, name := range []string{Header, AtmosphereHeader} {
		if vs := r.Header.Values(name); len(vs) > 0 {
			return vs[0], true
		}
	}
	for _, name := range []string{param, AtmosphereHeader} {
		if r.Has(name) {
			return r.Query[name], true
		}
	}
	return "", false
}

// Open restores the session that a client asks for, or begins one; nil if it
// does not ask for one.
func (ss *Sessions) Open(ctx context.Context, r *api.Request, principal string) (*Client, error) {
	token, given := sessionToken(r)
	if !given {
		return nil, nil
	}
	return ss.openToken(ctx, token, principal)
}

// Restore restores the session that a client asks for and sets its token
// in the answer. It returns nil if the client does not ask for one.
func (ss *Sessions) Restore(w http.ResponseWriter, r *api.Request) (*Client, *SessionInfo, error) {
	who, err := ss.Open(r.Context(), r, r.Actor.Name)
	if who == nil || err != nil {
		return nil, nil, err
	}
	i, err := who.Info(r.Context())
	if err != nil {
		return nil, nil, err
	}
	w.Header().Set(Header, who.Token)
	return who, i, nil
}

// openToken restores the session of a token, or begins one.
func (ss *Sessions) openToken(ctx context.Context, token, principal string) (c *Client, err error) {
	ss.sweep()
	var x *Session
	if token != "" && len(token) <= MaxToken {
		x, err = ss.Store.Restore(ctx, token, principal)
		if err != nil {
			return nil, err
		}
	}
	c = &Client{of: ss, Token: token, new: x == nil, touched: ss.Now()}
	if x == nil {
		c.Token, x, err = ss.Store.Create(ctx, principal)
	} else {
		err = ss.Store.Update(ctx, token, func(*Session) {})
	}
	if err != nil {
		return nil, err
	}
	c.Session = *x
	return c, nil
}

// sweep removes expired sessions in the background, at most once a minute.
func (ss *Sessions) sweep() {
	if ss.Life.Context().Err() != nil || !ss.Store.Due() {
		return
	}
	ss.Life.Go(func() {
		if _, err := ss.Store.RemoveExpired(ss.Life.Context()); err != nil && !errors.Is(err, context.Canceled) {
			ss.Log.Error("expired sessions cannot be removed", "error", err)
		}
	})
}

func (ss *Sessions) get(w http.ResponseWriter, r *api.Request) error {
	token, _ := sessionToken(r)
	c, err := ss.openToken(r.Context(), token, r.Actor.Name)
	if err != nil {
		return err
	}
	return c.show(w, r)
}

func (ss *Sessions) put(w http.ResponseWriter, r *api.Request, b *sessionBody) error {
	if err := b.validate(); err != nil {
		return err
	}
	token, _ := sessionToken(r)
	c, err := ss.openToken(r.Context(), token, r.Actor.Name)
	if err != nil {
		return err
	}
	err = ss.Store.Update(r.Context(), c.Token, func(x *Session) {
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
		size += len(k) + len(v)
		if k == "" || !text(k, posthouse.MaxID) || size > 16<<10 {
			return posthouse.Invalid("metadata", "must have names of 1 to %d bytes of text, and 16 KiB together", posthouse.MaxID)
		}
	}
	if b.Thread != "" {
		return posthouse.ValidateName("thread", b.Thread)
	}
	return nil
}

func (ss *Sessions) delete(w http.ResponseWriter, r *api.Request) error {
	token, _ := sessionToken(r)
	if token != "" && len(token) <= MaxToken {
		x, err := ss.Store.Restore(r.Context(), token, r.Actor.Name)
		if err == nil && x != nil {
			err = ss.Store.Remove(r.Context(), token)
		}
		if err != nil {
			return err
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

package server

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// maxSessions bounds the logins kept; the one that ends soonest makes room.
const maxSessions = 1000

// sessions holds who is logged in with a browser, in memory: a restart logs
// everybody out. The cookie's value is kept as a hash only.
type sessions struct {
	now func() time.Time
	ttl time.Duration

	mu   sync.Mutex
	open map[posthouse.Hash]session
}

type session struct {
	token   tokens.Token
	expires time.Time
}

func newSessions(now func() time.Time, ttl time.Duration) *sessions {
	return &sessions{now: now, ttl: ttl, open: map[posthouse.Hash]session{}}
}

// begin opens a session and returns the cookie's value.
func (ss *sessions) begin(t tokens.Token) string {
	value := tokens.NewSecret()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	now := ss.now()
	var soonest posthouse.Hash
	for k, x := range ss.open {
		if !now.Before(x.expires) {
			delete(ss.open, k)
		} else if soonest.IsZero() || x.expires.Before(ss.open[soonest].expires) {
			soonest = k
		}
	}
	if len(ss.open) >= maxSessions {
		delete(ss.open, soonest)
	}
	ss.open[sha256.Sum256([]byte(value))] = session{t, now.Add(ss.ttl)}
	return value
}

func (ss *sessions) get(value string) (tokens.Token, bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	x, ok := ss.open[sha256.Sum256([]byte(value))]
	return x.token, ok && ss.now().Before(x.expires)
}

func (ss *sessions) end(value string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.open, sha256.Sum256([]byte(value)))
}

// cookie makes the session's cookie; an empty value takes it away.
func (ss *sessions) cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{
		Name: api.SessionCookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil, MaxAge: int(ss.ttl / time.Second),
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

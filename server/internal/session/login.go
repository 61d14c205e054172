package session

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// maxLogins bounds the logins kept; the one that ends soonest makes room.
const maxLogins = 1000

// Logins holds who is logged in with a browser, in memory: a restart logs
// everybody out. The cookie's value is kept as a hash only.
type Logins struct {
	now func() time.Time
	ttl time.Duration

	mu   sync.Mutex
	open map[posthouse.Hash]login
}

// A login is who is behind a cookie.
type login struct {
	token   tokens.Token
	expires time.Time
}

// NewLogins keeps logins, each for ttl.
func NewLogins(now func() time.Time, ttl time.Duration) *Logins {
	return &Logins{now: now, ttl: ttl, open: map[posthouse.Hash]login{}}
}

// Begin opens a session and returns the cookie's value.
func (ss *Logins) Begin(t tokens.Token) string {
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
	if len(ss.open) >= maxLogins {
		delete(ss.open, soonest)
	}
	ss.open[sha256.Sum256([]byte(value))] = login{t, now.Add(ss.ttl)}
	return value
}

// Get returns the token behind a cookie, and whether its login still holds.
func (ss *Logins) Get(value string) (tokens.Token, bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	x, ok := ss.open[sha256.Sum256([]byte(value))]
	return x.token, ok && ss.now().Before(x.expires)
}

// End forgets a login.
func (ss *Logins) End(value string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.open, sha256.Sum256([]byte(value)))
}

// Cookie makes the session's cookie; an empty value takes it away.
func (ss *Logins) Cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{
		Name: api.SessionCookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil, MaxAge: int(ss.ttl / time.Second),
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

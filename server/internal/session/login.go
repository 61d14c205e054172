package session

import (
	"crypto/sha256"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// Bounds of the logins kept. Of a token that has its share, the one that ends soonest
// makes room; of all together, one of the token that has most. So no token ends another's.
const (
	maxLogins   = 1000
	tokenLogins = 20
)

// Logins holds who is logged in with a browser, in memory or in a file. The cookie's value
// is kept as a hash only.
type Logins struct {
	now  func() time.Time
	ttl  time.Duration
	path string // of the file; "": in memory, and a restart logs everybody out

	mu   sync.Mutex
	open map[posthouse.Hash]login
	read os.FileInfo // of the file as it was read; nil: there was no file
}

// A login says who a cookie belongs to.
type login struct {
	token   tokens.Token
	expires time.Time
}

// NewLogins keeps logins in memory, each for ttl.
func NewLogins(now func() time.Time, ttl time.Duration) *Logins {
	return &Logins{now: now, ttl: ttl, open: map[posthouse.Hash]login{}}
}

// Begin opens a session and returns the cookie's value. The login holds also with an
// error, which says why a restart will end it.
func (ss *Logins) Begin(t tokens.Token) (value string, err error) {
	value = tokens.NewSecret()
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return value, ss.change(func() { ss.add(value, t) })
}

// add makes room for a login and adds it. Callers hold ss.mu.
func (ss *Logins) add(value string, t tokens.Token) {
	now := ss.now()
	for k, x := range ss.open {
		if !now.Before(x.expires) {
			delete(ss.open, k)
		}
	}
	if countOf(ss.open, t.Name, login.owner) >= tokenLogins {
		ss.endSoonest(t.Name)
	}
	if len(ss.open) >= maxLogins {
		name, _ := mostOf(ss.open, login.owner)
		ss.endSoonest(name)
	}
	ss.open[sha256.Sum256([]byte(value))] = login{t, now.Add(ss.ttl)}
}

func (x login) owner() string { return x.token.Name }

// endSoonest ends the login of a token that ends soonest. Callers hold ss.mu.
func (ss *Logins) endSoonest(name string) {
	k, ok := oldestOf(ss.open, name, login.owner, func(a, b login) bool { return a.expires.Before(b.expires) })
	if ok {
		delete(ss.open, k)
	}
}

// Get returns the token of a cookie, and whether its login still holds.
func (ss *Logins) Get(value string) (tokens.Token, bool) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	_ = ss.refresh() // without the file no browser is logged in; the next login says why
	id := posthouse.Hash(sha256.Sum256([]byte(value)))
	x, ok := ss.open[id]
	x.token.Login = id
	return x.token, ok && ss.now().Before(x.expires)
}

// Holds reports whether a login, by the Login of its token, still holds.
func (ss *Logins) Holds(id posthouse.Hash) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	_ = ss.refresh()
	x, ok := ss.open[id]
	return ok && ss.now().Before(x.expires)
}

// A Login is one that holds.
type Login struct {
	ID      posthouse.Hash
	Token   tokens.Token
	Since   time.Time
	Expires time.Time
}

// List returns the logins that hold, the newest first.
func (ss *Logins) List() (all []Login) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	_ = ss.refresh()
	for id, x := range ss.open {
		ends := x.expires
		if e := x.token.ExpiresAt; !e.IsZero() && e.Before(ends) {
			ends = e
		}
		if ss.now().Before(ends) {
			all = append(all, Login{id, x.token, x.expires.Add(-ss.ttl), ends})
		}
	}
	slices.SortFunc(all, func(a, b Login) int { return b.Since.Compare(a.Since) })
	return all
}

// EndOf ends the logins of a person, and returns how many there were. With an error they are ended
// here, but not for a restart.
func (ss *Logins) EndOf(name string) (n int, err error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	err = ss.change(func() {
		for id, x := range ss.open {
			if posthouse.SameName(x.token.Name, name) {
				delete(ss.open, id)
				n++
			}
		}
	})
	return n, err
}

// Open counts the logins that hold, by the hashes of their tokens.
func (ss *Logins) Open() map[posthouse.Hash]int {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	_ = ss.refresh() // without the file no browser is logged in; the next login says why
	all := map[posthouse.Hash]int{}
	for _, x := range ss.open {
		if ss.now().Before(x.expires) {
			all[x.token.Hash]++
		}
	}
	return all
}

// End forgets a login. With an error it is ended here, but not for a restart.
func (ss *Logins) End(value string) error {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.change(func() { delete(ss.open, sha256.Sum256([]byte(value))) })
}

// Cookie makes the session's cookie; an empty value takes it away.
func (ss *Logins) Cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{
		Name: api.SessionCookie, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: api.IsSecure(r), MaxAge: int(ss.ttl / time.Second),
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

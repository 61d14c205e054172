package auth

import (
	"net/http"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// Login logs a browser in: the answer sets its cookie.
func (a *Authenticator) Login(w http.ResponseWriter, r *http.Request, tok tokens.Token) {
	value, err := a.logins.Begin(tok)
	a.NoteLogins(err)
	http.SetCookie(w, a.logins.Cookie(r, value))
}

// Token returns the token of a secret. ok is false for one that is not known, or has expired.
func (a *Authenticator) Token(secret string) (tok tokens.Token, ok bool, err error) {
	return a.tokens.Authenticate(secret)
}

// Logins counts the browsers that are logged in, by the hashes of their tokens.
func (a *Authenticator) Logins() map[posthouse.Hash]int { return a.logins.Open() }

// Logout logs a browser out: the answer takes its cookie away.
func (a *Authenticator) Logout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(api.SessionCookie); err == nil {
		a.NoteLogins(a.logins.End(c.Value))
	}
	http.SetCookie(w, a.logins.Cookie(r, ""))
}

// NoteLogins logs why logins are not kept over a restart; nil logs nothing.
func (a *Authenticator) NoteLogins(err error) {
	if err != nil {
		a.log.Warn("the file of logins cannot be used: a restart will not know who is logged in", "error", err)
	}
}

package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/tokens"
)

// Keep has logins, refused credentials and changes of tokens put on record in a Ledger's store. It logs why
// the file of logins cannot be used, if it cannot.
func (a *Authenticator) Keep(l *ledger.Ledger, now func() time.Time, unread error) {
	a.NoteLogins(unread)
	a.Record = authlog.New(&authlog.Options{Ledger: l, Tokens: a.tokens, Life: a.life, Log: a.log, Now: now})
	a.Record.Look()
}

// Close writes what is to be kept, once the server's lifetime is over.
func (a *Authenticator) Close(ctx context.Context) {
	a.Record.Close(ctx)
	a.SaveUsed()
}

// Login logs a browser in that came by a method of package authlog: the answer sets its cookie.
func (a *Authenticator) Login(w http.ResponseWriter, r *http.Request, method string, tok tokens.Token) {
	value, err := a.logins.Begin(tok)
	a.NoteLogins(err)
	a.Record.LoggedIn(tok, authlog.Visit{By: method, Address: authlog.Address(r)})
	http.SetCookie(w, a.logins.Cookie(r, value))
}

// Token returns the token of a secret. ok is false for one that is not known, or has expired.
func (a *Authenticator) Token(secret string) (tok tokens.Token, ok bool, err error) {
	return a.tokens.Authenticate(secret)
}

// Logins counts the browsers that are logged in, by the hashes of their tokens.
func (a *Authenticator) Logins() map[posthouse.Hash]int { return a.logins.Open() }

// LoggedIn lists the logins that hold, the newest first.
func (a *Authenticator) LoggedIn() []session.Login { return a.logins.List() }

// EndLogins ends the logins of a person with a browser, and returns how many there were: what is open
// with them ends with its next heartbeat.
func (a *Authenticator) EndLogins(name string) int {
	n, err := a.logins.EndOf(name)
	a.NoteLogins(err)
	return n
}

// Logout logs a browser out: the answer takes its cookie away.
func (a *Authenticator) Logout(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(api.SessionCookie); err == nil {
		tok, open := a.logins.Get(c.Value)
		a.NoteLogins(a.logins.End(c.Value))
		if open {
			a.Record.LoggedOut(tok, authlog.Visit{Address: authlog.Address(r)})
		}
	}
	http.SetCookie(w, a.logins.Cookie(r, ""))
}

// NoteRefusal records that a login or credential was refused, and why: in words that have nothing of
// what was sent.
func (a *Authenticator) NoteRefusal(r *http.Request, tok tokens.Token, method, why string) {
	a.Record.Refused(tok, authlog.Visit{By: method, Address: authlog.Address(r)}, why)
}

// NoteLogins logs why logins are not kept over a restart; nil logs nothing.
func (a *Authenticator) NoteLogins(err error) {
	if err != nil {
		a.log.Warn("the file of logins cannot be used: a restart will not know who is logged in", "error", err)
	}
}

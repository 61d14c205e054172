package auth

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/seldom"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/internal/limit"
	"github.com/posthouse/posthouse/server/internal/session"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// An Authenticator knows clients by their tokens and logins.
type Authenticator struct {
	// Refused logs credentials that were not accepted, as warnings, so that they are seen at
	// the default level. A line says where from and for whom, never what was sent.
	Refused *seldom.Log

	// Provider is the name of what people log in by without a token, and SignedIn its key: "" is
	// no provider.
	Provider, SignedIn string

	// Record has logins and refused credentials on record; nil: nothing has.
	Record *authlog.Log

	// Ended reports whether the login of a person by a provider is ended on record; nil: none is.
	Ended func(tokens.Token) bool

	tokens *tokens.List
	logins *session.Logins
	life   *limit.Lifetime
	log    *slog.Logger
}

// New returns an Authenticator.
func New(list *tokens.List, logins *session.Logins, life *limit.Lifetime, log *slog.Logger) *Authenticator {
	return &Authenticator{Refused: seldom.New(log, time.Now), tokens: list, logins: logins, life: life, log: log}
}

// Authenticate returns the token of a request, or why the request is refused. The
// token is in the Authorization header, in a WebSocket subprotocol, or that of a
// browser's session cookie; never in a URL. A WebSocket may also send it in its
// first message: then the zero Token is returned.
func (a *Authenticator) Authenticate(w http.ResponseWriter, r *api.Request) (tokens.Token, error) {
	if r.Route.Role == "" {
		return tokens.Token{}, nil
	}
	a.Record.Look()
	tok, ok, err := a.identify(r)
	secret, credential := Bearer(r.Request)
	switch {
	case err != nil:
		return tokens.Token{}, err
	case !ok && r.Route.Style == api.Socket && api.IsUpgrade(r.Request) && !credential:
		return tokens.Token{}, nil
	case !ok:
		if credential {
			a.noteRefused(r.Request, authlog.ByHeader, tok, secret)
		}
		return tokens.Token{}, a.Unauthenticated(tok)
	}
	a.noteUse(tok)
	api.NoteActor(w, tok.Name)
	return tok, RequireRole(tok, r.Route.Role)
}

// AuthenticateSecret returns the token of a secret that came in a message or a form, by a method of
// package authlog. If it is not accepted, ok is false and the token is the one that expired, or zero.
func (a *Authenticator) AuthenticateSecret(w http.ResponseWriter, r *http.Request, method, secret string) (tok tokens.Token, ok bool, err error) {
	tok, ok, err = a.tokens.Authenticate(secret)
	switch {
	case err != nil:
		return tokens.Token{}, false, a.Unavailable(err)
	case !ok:
		a.noteRefused(r, method, tok, secret)
		return tok, false, nil
	}
	a.noteUse(tok)
	api.NoteActor(w, tok.Name)
	return tok, true, nil
}

// Knows reports whether a request has a valid token, or a login. It does not count as a use.
func (a *Authenticator) Knows(r *http.Request) bool {
	_, ok, err := a.identify(&api.Request{Request: r})
	return ok && err == nil
}

// identify finds the token of a request. One that has expired is returned with ok
// false.
func (a *Authenticator) identify(r *api.Request) (tok tokens.Token, ok bool, err error) {
	if secret, given := Bearer(r.Request); given {
		tok, ok, err = a.tokens.Authenticate(secret)
	} else if c, e := r.Cookie(api.SessionCookie); e == nil {
		tok, ok = a.logins.Get(c.Value)
		if ok {
			ok, err = a.Current(tok)
		}
	}
	if err != nil {
		return tokens.Token{}, false, a.Unavailable(err)
	}
	return tok, ok, nil
}

// Unavailable logs why tokens cannot be checked, and returns the error for the
// client.
func (a *Authenticator) Unavailable(err error) error {
	a.log.Error("tokens cannot be checked", "error", err)
	return &posthouse.Error{
		Code: posthouse.CodeClosed, Message: "nobody can be authenticated now", Hint: "the server's log says what is wrong with its tokens file", Err: err,
	}
}

// Bearer returns the secret in a header. given is also true for a header that
// holds something else: a client that tries one way is not let in by another.
func Bearer(r *http.Request) (secret string, given bool) {
	if hs := r.Header.Values("Authorization"); len(hs) > 0 {
		scheme, secret, _ := strings.Cut(hs[0], " ")
		if len(hs) > 1 || !strings.EqualFold(scheme, "Bearer") {
			return "", true
		}
		return strings.TrimSpace(secret), true
	}
	if api.IsUpgrade(r) {
		return api.SubprotocolToken(r)
	}
	return "", false
}

// Unauthenticated returns the error for a client without a valid token. x is the
// token that expired, or zero.
func (a *Authenticator) Unauthenticated(x tokens.Token) error {
	e := &posthouse.Error{
		Code: problem.CodeUnauthenticated, Message: "a valid access token is needed",
		Hint: "send Authorization: Bearer with the content of the file token in the server's data directory, or make one: posthouse token create",
	}
	if a.Expired(x) && x.SignedIn == "" {
		e.Message = "the access token of " + x.Name + " expired at " + x.ExpiresAt.Format(time.RFC3339)
		e.Hint = "have another made where the server's data directory is: posthouse token create --name " + x.Name + " --role " + string(x.Role)
	}
	return e
}

// Expired reports whether a token is one that has expired.
func (a *Authenticator) Expired(x tokens.Token) bool { return a.tokens.Expired(x) }

// NoToken is what a client is told that sends something in the place of a token. The log says
// so.
func (a *Authenticator) NoToken(r *http.Request) error {
	a.noteRefused(r, authlog.ByMessage, tokens.Token{}, "")
	return a.Unauthenticated(tokens.Token{})
}

// noteRefused logs and records that a credential was not accepted. x is the token that expired, or
// zero. A request without a credential is no attempt.
func (a *Authenticator) noteRefused(r *http.Request, method string, x tokens.Token, secret string) {
	why := "nobody has this token"
	switch {
	case a.Expired(x):
		why = "it expired"
	case secret == "":
		why = "it is no token"
	}
	attrs := []any{"from", r.RemoteAddr, "method", r.Method, "why", why}
	if x.Name != "" {
		attrs = append(attrs, "token", x.Name)
	}
	a.Refused.Warn("an access token was refused", attrs...)
	if a.Expired(x) {
		a.NoteRefusal(r, x, method, why)
	} else {
		a.NoteRefusal(r, tokens.Token{}, method, why)
	}
}

package page

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/server/internal/accounts"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/signin"
	"github.com/posthouse/posthouse/server/tokens"
)

// signInCookie holds what a login by a provider needs until the browser comes back. It is Lax:
// another site's page leads back here.
const (
	signInCookie = "posthouse_signin"
	hostPrefix   = "__Host-"
	signInTime   = 10 * time.Minute
	beginPath    = "/login/begin"
)

// SignIn is /login/begin and /login/callback: logging in by a provider.
type SignIn struct {
	provider signin.Provider
	auth     *auth.Authenticator
	book     *accounts.Book
	pages    *Pages
	log      *slog.Logger
	pendings *pendings
}

// NewSignIn returns logging in by a provider. Book binds accounts to names, and key signs what a browser
// keeps of a login that has begun.
func NewSignIn(provider signin.Provider, a *auth.Authenticator, book *accounts.Book, pages *Pages, key []byte, log *slog.Logger, now func() time.Time) *SignIn {
	return &SignIn{provider, a, book, pages, log, &pendings{key: key, now: now, used: map[string]time.Time{}}}
}

// Routes are the lines of the table.
func (s *SignIn) Routes() []*api.Route {
	return []*api.Route{
		{
			Method: http.MethodGet, Path: beginPath, Style: api.Page, Summary: "Log in with an account elsewhere", Handle: s.begin, Query: []api.Param{nextParam},
			Notes:   "Leads to the provider that the server was started with.",
			Answers: []api.Answer{{Status: http.StatusSeeOther, Help: "to the provider", Body: nil, Media: ""}},
		},
		{
			Method: http.MethodGet, Path: signin.CallbackPath, Style: api.Page, Summary: "Come back from the provider", Handle: s.finish, Query: callbackParams(), Others: true,
			Notes:   "The provider leads here. It logs in once, in the browser that began, and leads to where that wanted to go.",
			Answers: []api.Answer{{Status: http.StatusSeeOther, Help: "logged in", Body: nil, Media: ""}, {Status: http.StatusForbidden, Help: "the login page again", Body: nil, Media: "text/html"}},
		},
	}
}

func callbackParams() (ps []api.Param) {
	for _, name := range []string{"code", "state", "error"} {
		ps = append(ps, api.Param{Name: name, Kind: api.BodyParam, Help: "of the provider"})
	}
	return ps
}

func (s *SignIn) begin(w http.ResponseWriter, r *api.Request) error {
	location, kept, err := s.provider.Begin(r.Context())
	if err != nil {
		return s.refuse(w, r, err, r.Query["next"])
	}
	value, err := s.pendings.seal(kept, Next(r.Query["next"]))
	if err != nil {
		return err
	}
	http.SetCookie(w, s.cookie(r.Request, value))
	w.Header().Set("Location", location)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// cookie keeps a login that has begun; an empty value takes it away.
func (s *SignIn) cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{
		Name: signInCookie, Value: value, Path: "/login", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: int(signInTime / time.Second),
	}
	if api.IsSecure(r) { // no page of another host of the domain sets it
		c.Name, c.Path, c.Secure = hostPrefix+signInCookie, "/", true
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

func (s *SignIn) finish(w http.ResponseWriter, r *api.Request) error {
	empty := s.cookie(r.Request, "")
	c, err := r.Cookie(empty.Name)
	http.SetCookie(w, empty) // once, whatever comes of it
	var p pending
	ok := err == nil
	if ok {
		p, ok = s.pendings.open(c.Value)
	}
	if !ok {
		return s.refuse(w, r, &posthouse.Error{Code: posthouse.CodeForbidden, Message: "this browser has not begun to log in, or more than ten minutes ago"}, "")
	}
	forget, err := s.pendings.use(&p)
	if err != nil {
		return s.refuse(w, r, err, p.Next)
	}
	who, err := s.provider.Finish(r.Context(), r.URL.Query(), p.Kept)
	if err != nil {
		forget()
		return s.refuse(w, r, err, p.Next)
	}
	if !who.Role.Valid() || who.Role == tokens.Worker {
		return s.refuse(w, r, &posthouse.Error{Code: posthouse.CodeForbidden, Message: who.Name + " has no role here"}, p.Next)
	}
	name, err := s.book.Enter(r.Context(), who)
	if err != nil {
		return s.refuse(w, r, err, p.Next)
	}
	if err := s.book.Came(r.Context(), name, who.Role); err != nil {
		return s.refuse(w, r, err, p.Next)
	}
	if name != who.Name {
		s.log.Info("an account has the name of its first login", "name", name, "provider says", who.Name)
	}
	if text.MixedScripts(name) {
		s.log.Warn("a name mixes alphabets with letters that look alike", "name", name, "provider", s.provider.Name())
	}
	api.NoteActor(w, name)
	s.auth.Login(w, r.Request, authlog.ByAccount, tokens.Token{Name: name, Role: who.Role, CreatedAt: s.pendings.now().UTC(), ExpiresAt: who.Expires.UTC(), SignedIn: s.provider.Key()})
	w.Header().Set("Location", Next(p.Next))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// refuse shows the login page with why it failed, as far as that is for the person to know. The
// log has the rest.
func (s *SignIn) refuse(w http.ResponseWriter, r *api.Request, err error, next string) error {
	status, wrong := http.StatusBadGateway, "The provider cannot be reached, or answers what cannot be used. The server's log says more."
	if e, ok := asRefusal(err); ok {
		status, wrong = http.StatusForbidden, e.Message
		if e.Field != "" {
			wrong = e.Field + " " + wrong
		}
	}
	s.auth.NoteRefusal(r.Request, tokens.Token{}, authlog.ByAccount, wrong)
	s.log.Warn("a login by a provider failed", "provider", s.provider.Name(), "from", r.RemoteAddr, "error", err)
	s.pages.Login(w, status, Form{Wrong: wrong, Next: next})
	return nil
}

// asRefusal returns the error of a person who may not log in.
func asRefusal(err error) (*posthouse.Error, bool) {
	e, ok := errors.AsType[*posthouse.Error](err)
	return e, ok && (e.Code == posthouse.CodeForbidden || e.Code == posthouse.CodeInvalid)
}

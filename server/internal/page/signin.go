package page

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
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
	signInTime   = 10 * time.Minute
	beginPath    = "/login/begin"
)

// SignIn is /login/begin and /login/callback: logging in by a provider.
type SignIn struct {
	Provider signin.Provider
	Auth     *auth.Authenticator
	Pages    *Pages
	Log      *slog.Logger
	Now      func() time.Time
}

// A pending is what a browser keeps of a login that has begun. The provider's part has its state,
// which the callback must repeat.
type pending struct {
	Kept string `json:"kept"`
	Next string `json:"next,omitempty"`
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
	location, kept, err := s.Provider.Begin(r.Context())
	if err != nil {
		return s.refuse(w, r, err, r.Query["next"])
	}
	value, err := json.Marshal(pending{kept, Next(r.Query["next"])})
	if err != nil {
		return err
	}
	http.SetCookie(w, s.cookie(r.Request, base64.RawURLEncoding.EncodeToString(value)))
	w.Header().Set("Location", location)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// cookie keeps a login that has begun; an empty value takes it away.
func (s *SignIn) cookie(r *http.Request, value string) *http.Cookie {
	c := &http.Cookie{
		Name: signInCookie, Value: value, Path: "/login", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: api.IsSecure(r), MaxAge: int(signInTime / time.Second),
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

func (s *SignIn) finish(w http.ResponseWriter, r *api.Request) error {
	var p pending
	c, err := r.Cookie(signInCookie)
	http.SetCookie(w, s.cookie(r.Request, "")) // once, whatever comes of it
	if err == nil {
		var value []byte
		value, err = base64.RawURLEncoding.DecodeString(c.Value)
		if err == nil {
			err = json.Unmarshal(value, &p)
		}
	}
	if err != nil {
		return s.refuse(w, r, &posthouse.Error{Code: posthouse.CodeForbidden, Message: "this browser has not begun to log in, or more than ten minutes ago"}, "")
	}
	who, err := s.Provider.Finish(r.Context(), r.URL.Query(), p.Kept)
	if err != nil {
		return s.refuse(w, r, err, p.Next)
	}
	if err := posthouse.CheckDecider("name", who.Name); err != nil {
		return s.refuse(w, r, err, p.Next)
	}
	if !who.Role.Valid() || who.Role == tokens.Worker {
		return s.refuse(w, r, &posthouse.Error{Code: posthouse.CodeForbidden, Message: who.Name + " has no role here"}, p.Next)
	}
	api.NoteActor(w, who.Name)
	s.Auth.Login(w, r.Request, authlog.ByAccount, tokens.Token{Name: who.Name, Role: who.Role, CreatedAt: s.Now().UTC(), ExpiresAt: who.Expires.UTC(), SignedIn: s.Provider.Key()})
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
	s.Auth.NoteRefusal(r.Request, tokens.Token{}, authlog.ByAccount, wrong)
	s.Log.Warn("a login by a provider failed", "provider", s.Provider.Name(), "from", r.RemoteAddr, "error", err)
	s.Pages.Login(w, status, Form{Wrong: wrong, Next: next})
	return nil
}

// asRefusal returns the error of a person who may not log in.
func asRefusal(err error) (*posthouse.Error, bool) {
	e, ok := errors.AsType[*posthouse.Error](err)
	return e, ok && (e.Code == posthouse.CodeForbidden || e.Code == posthouse.CodeInvalid)
}

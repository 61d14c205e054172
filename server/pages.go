package server

import (
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

func (s *Server) pageRoutes() []*api.Route {
	html := []api.Answer{{Status: http.StatusOK, Help: "a page", Body: nil, Media: "text/html"}}
	return []*api.Route{
		{Method: http.MethodGet, Path: "/{$}", Role: tokens.Viewer, Style: api.Page, Summary: "The inbox page", Handle: s.servePage("index.html"), Answers: html},
		{Method: http.MethodGet, Path: "/gates/{id}", Role: tokens.Viewer, Style: api.Page, Summary: "The page of a gate: who decided it, and what ran under the decision", Handle: s.servePage("gate.html"), Answers: html},
		{Method: http.MethodGet, Path: "/docs", Role: tokens.Viewer, Style: api.Page, Summary: "This description, for people", Handle: s.servePage("docs.html"), Answers: html},
		{Method: http.MethodGet, Path: "/login", Style: api.Page, Summary: "The login page", Handle: s.loginPage, Answers: html},
		{
			Method: http.MethodPost, Path: "/login", Style: api.Page, Form: true, Summary: "Log in with an access token", Handle: s.login,
			Notes:   "Sets the session cookie, HttpOnly and SameSite=Strict, and leads to the inbox.",
			Answers: []api.Answer{{Status: http.StatusSeeOther, Help: "logged in", Body: nil, Media: ""}, {Status: http.StatusUnauthorized, Help: "the login page again", Body: nil, Media: "text/html"}},
		},
		{
			Method: http.MethodPost, Path: "/logout", Style: api.Page, Form: true, Role: tokens.Viewer, Summary: "Log out", Handle: s.logout,
			Answers: []api.Answer{{Status: http.StatusSeeOther, Help: "logged out", Body: nil, Media: ""}},
		},
		{Method: http.MethodGet, Path: "/login/style.css", Style: api.Asset, Summary: "The pages' style", Handle: s.servePage("style.css"), Answers: []api.Answer{{Status: http.StatusOK, Help: "CSS", Body: nil, Media: "text/css"}}},
		{Method: http.MethodGet, Path: "/login/icon.svg", Style: api.Asset, Summary: "The pages' icon", Handle: s.servePage("icon.svg"), Answers: []api.Answer{{Status: http.StatusOK, Help: "SVG", Body: nil, Media: "image/svg+xml"}}},
		{Method: http.MethodGet, Path: "/hidden.js", Role: tokens.Viewer, Style: api.Asset, Summary: "How the pages mark characters that people do not see", Handle: s.servePage("hidden.js"), Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript", Body: nil, Media: "text/javascript"}}},
		{Method: http.MethodGet, Path: "/json.js", Role: tokens.Viewer, Style: api.Asset, Summary: "How the inbox page reads JSON", Handle: s.servePage("json.js"), Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript", Body: nil, Media: "text/javascript"}}},
		{Method: http.MethodGet, Path: "/shared.js", Role: tokens.Viewer, Style: api.Asset, Summary: "What the pages' scripts share", Handle: s.servePage("shared.js"), Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript", Body: nil, Media: "text/javascript"}}},
		{Method: http.MethodGet, Path: "/weak.js", Role: tokens.Viewer, Style: api.Asset, Summary: "How the pages say what the store may lose", Handle: s.servePage("weak.js"), Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript", Body: nil, Media: "text/javascript"}}},
		{Method: http.MethodGet, Path: "/gate.js", Role: tokens.Viewer, Style: api.Asset, Summary: "The gate page's script", Handle: s.servePage("gate.js"), Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript", Body: nil, Media: "text/javascript"}}},
		{Method: http.MethodGet, Path: "/inbox.js", Role: tokens.Viewer, Style: api.Asset, Summary: "The inbox page's script", Handle: s.servePage("inbox.js"), Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript", Body: nil, Media: "text/javascript"}}},
	}
}

// servePage answers with a page or a file of one. A browser asks each time whether it
// has changed, so a new version of the server never runs an old page.
func (s *Server) servePage(name string) func(http.ResponseWriter, *api.Request) error {
	return func(w http.ResponseWriter, r *api.Request) error {
		s.pages.Serve(w, r.Request, name)
		return nil
	}
}

func (s *Server) loginPage(w http.ResponseWriter, _ *api.Request) error {
	s.pages.Login(w, http.StatusOK, "")
	return nil
}

func (s *Server) login(w http.ResponseWriter, r *api.Request) error {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return &posthouse.Error{Code: problem.CodeMediaType, Field: "Content-Type", Message: "must be application/x-www-form-urlencoded", Hint: "use the form at /login"}
	}
	if err := r.ParseForm(); err != nil {
		if problem.Client(err).Code == posthouse.CodeTooLarge {
			return err
		}
		return posthouse.Invalid("body", "is not a form")
	}
	secret := strings.TrimSpace(r.PostForm.Get("token"))
	tok, ok, err := s.tokens.Authenticate(secret)
	if err != nil {
		return s.authUnavailable(err)
	}
	if !ok {
		problem := "That token is not valid. Copy the whole line of the file named token in the server's data directory, or ask an operator for one."
		if s.tokens.Expired(tok) {
			problem = "That token, of " + tok.Name + ", expired at " + tok.ExpiresAt.Format(time.RFC3339) + ". Ask an operator for another."
		}
		s.noteRefused(r.Request, tok, secret)
		s.pages.Login(w, http.StatusUnauthorized, problem)
		return nil
	}
	s.noteUse(tok)
	api.NoteActor(w, tok.Name)
	value, err := s.sessions.Begin(tok)
	s.noteLogins(err)
	http.SetCookie(w, s.sessions.Cookie(r.Request, value))
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (s *Server) logout(w http.ResponseWriter, r *api.Request) error {
	if c, err := r.Cookie(api.SessionCookie); err == nil {
		s.noteLogins(s.sessions.End(c.Value))
	}
	http.SetCookie(w, s.sessions.Cookie(r.Request, ""))
	w.Header().Set("Location", "/login")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// noteLogins logs why logins are not kept over a restart.
func (s *Server) noteLogins(err error) {
	if err != nil {
		s.log.Warn("the file of logins cannot be used: a restart will not know who is logged in", "error", err)
	}
}

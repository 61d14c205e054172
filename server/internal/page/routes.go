package page

import (
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/authlog"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
)

// maxForm bounds the login form, in bytes: a secret and a path. It is read before anything is known
// of who sends it.
const maxForm = 8 << 10

// Routes are the routes of the pages and their files, and of logging in and out.
//
// Pages and files are public: they hold nothing, and ask for what they show with the cookie. A
// browser does not send that cookie along on a link in a mail or a chat, so a page that needed it
// would ask people to log in who are.
func (p *Pages) Routes() []*api.Route {
	html := []api.Answer{{Status: http.StatusOK, Help: "a page", Body: nil, Media: "text/html"}}
	rs := []*api.Route{
		{
			Method: http.MethodGet, Path: "/decide/{id}", Style: api.Page, Summary: "The page of a link that carries the right to decide", Handle: p.serve("decide.html"), Answers: html,
			Notes: "The approval token is in the address's fragment, which browsers send nowhere. Opening the page decides nothing.",
		},
		{Method: http.MethodGet, Path: "/login", Style: api.Page, Summary: "The login page", Handle: p.getLogin, Query: []api.Param{nextParam}, Answers: html},
		{
			Method: http.MethodPost, Path: "/login", Style: api.Page, Form: true, MaxBody: maxForm, Summary: "Log in with an access token", Handle: p.postLogin,
			Notes:   "Sets the session cookie, HttpOnly and SameSite=Strict, and leads to the path in the member next, or to the inbox.",
			Answers: []api.Answer{{Status: http.StatusSeeOther, Help: "logged in", Body: nil, Media: ""}, {Status: http.StatusUnauthorized, Help: "the login page again", Body: nil, Media: "text/html"}},
		},
		{
			Method: http.MethodPost, Path: "/logout", Style: api.Page, Form: true, MaxBody: maxForm, Role: tokens.Viewer, Summary: "Log out", Handle: p.logout,
			Answers: []api.Answer{{Status: http.StatusSeeOther, Help: "logged out", Body: nil, Media: ""}},
		},
	}
	return slices.Concat(p.siteRoutes(), rs, p.docsRoutes(), p.fileRoutes())
}

// fileRoutes are the routes of the files of the pages that work on their own.
func (p *Pages) fileRoutes() (rs []*api.Route) {
	for _, a := range []struct {
		path, file string
		summary    string
		is, media  string
	}{
		{"/login/icon.svg", "icon.svg", "The tab's icon", "SVG", "image/svg+xml"},
		{"/hidden.js", "hidden.js", "How the page of the API marks characters that people do not see", "JavaScript", "text/javascript"},
		{"/weak.js", "weak.js", "How that page says what the store may lose", "JavaScript", "text/javascript"},
	} {
		rs = append(rs, &api.Route{
			Method: http.MethodGet, Path: a.path, Style: api.Asset, Summary: a.summary, Handle: p.serve(a.file),
			Answers: []api.Answer{{Status: http.StatusOK, Help: a.is, Body: nil, Media: a.media}},
		})
	}
	return rs
}

// serve answers with a page or a file of one. A browser asks each time whether it
// has changed, so a new version of the server never runs an old page.
func (p *Pages) serve(name string) api.Handler {
	return func(w http.ResponseWriter, r *api.Request) error {
		p.writeFile(w, r.Request, name)
		return nil
	}
}

// leadTo answers with where else to look.
func leadTo(path string) api.Handler {
	return func(w http.ResponseWriter, _ *api.Request) error {
		w.Header().Set("Location", path)
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
}

func (p *Pages) getLogin(w http.ResponseWriter, r *api.Request) error {
	p.Login(w, http.StatusOK, Form{Next: r.Query["next"]})
	return nil
}

func (p *Pages) postLogin(w http.ResponseWriter, r *api.Request) error {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return &posthouse.Error{Code: problem.CodeMediaType, Field: "Content-Type", Message: "must be application/x-www-form-urlencoded", Hint: "use the form at /login"}
	}
	if err := r.ParseForm(); err != nil {
		switch problem.Client(err).Code {
		case posthouse.CodeTooLarge, problem.CodeTooMany:
			return err
		}
		return posthouse.Invalid("body", "is not a form")
	}
	secret := strings.TrimSpace(r.PostForm.Get("token"))
	if tok, ok := p.useCode(secret); ok {
		if err := p.auth.CheckUse(tok); err != nil {
			p.auth.NoteRefusal(r.Request, tok, authlog.ByLink, "the token that the link stands for is not valid any more")
			p.Login(w, http.StatusUnauthorized, Form{Wrong: "The token that the link stands for is not valid any more.", Next: r.PostForm.Get("next")})
			return nil
		}
		api.NoteActor(w, tok.Name)
		return p.loggedIn(w, r, authlog.ByLink, tok)
	}
	if strings.HasPrefix(secret, codeMark) {
		p.auth.NoteRefusal(r.Request, tokens.Token{}, authlog.ByLink, "the link was used already, is too old, or was never made")
		p.Login(w, http.StatusUnauthorized, Form{Wrong: "That link was used already, or is older than ten minutes. Start posthouse dev again for another, or log in with a token.", Next: r.PostForm.Get("next")})
		return nil
	}
	tok, ok, err := p.auth.AuthenticateSecret(w, r.Request, authlog.ByToken, secret)
	if err != nil {
		return err
	}
	if !ok {
		wrong := "That token is not valid. Copy the whole line of the file named token in the server's data directory, or ask an operator for one."
		if p.auth.Expired(tok) {
			wrong = "That token, of " + tok.Name + ", expired at " + tok.ExpiresAt.Format(time.RFC3339) + ". Ask an operator for another."
		}
		p.Login(w, http.StatusUnauthorized, Form{Wrong: wrong, Next: r.PostForm.Get("next")})
		return nil
	}
	return p.loggedIn(w, r, authlog.ByToken, tok)
}

// loggedIn logs a browser in and leads on.
func (p *Pages) loggedIn(w http.ResponseWriter, r *api.Request, method string, tok tokens.Token) error {
	p.auth.Login(w, r.Request, method, tok)
	w.Header().Set("Location", Next(r.PostForm.Get("next")))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

var nextParam = api.Param{Name: "next", Kind: api.BodyParam, Help: "the path of this server to go on at, with its query and fragment"}

// maxNext bounds where a login leads, in bytes.
const maxNext = 2000

// Next returns where a login leads: the path that was asked for, or the inbox if that is not a
// path of this server.
func Next(asked string) string {
	u, err := url.Parse(asked)
	switch {
	case err != nil, len(asked) > maxNext, u.IsAbs(), u.Host != "", u.User != nil, !strings.HasPrefix(asked, "/"), strings.HasPrefix(asked, "//"),
		strings.ContainsAny(asked, "\\\t\r\n"), strings.HasPrefix(u.Path, "//"), strings.HasPrefix(u.Path, "/login"), u.Path == "/logout":
		return "/"
	}
	return asked
}

func (p *Pages) logout(w http.ResponseWriter, r *api.Request) error {
	p.auth.Logout(w, r.Request)
	w.Header().Set("Location", "/login")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

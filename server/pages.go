package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"mime"
	"net/http"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/ui"
)

// pagePolicy lets a page load what this server serves and nothing else: no
// inline script or style, no frame around it, no form that goes elsewhere.
const pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

func (s *Server) pageRoutes() []*api.Route {
	html := []api.Answer{{Status: http.StatusOK, Help: "a page", Body: nil, Media: "text/html"}}
	return []*api.Route{
		{Method: http.MethodGet, Path: "/{$}", Role: tokens.Viewer, Style: api.Page, Summary: "The inbox page", Handle: s.servePage("index.html"), Answers: html},
		{Method: http.MethodGet, Path: "/gates/{id}", Role: tokens.Viewer, Style: api.Page, Summary: "The page of a gate: who decided it, and what ran under the decision", Handle: s.servePage("gate.html"), Answers: html},
		{Method: http.MethodGet, Path: "/docs", Role: tokens.Viewer, Style: api.Page, Summary: "This description, for people", Handle: s.docs, Answers: html},
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
		{Method: http.MethodGet, Path: "/json.js", Role: tokens.Viewer, Style: api.Asset, Summary: "How the inbox page reads JSON", Handle: s.servePage("json.js"), Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript", Body: nil, Media: "text/javascript"}}},
		{Method: http.MethodGet, Path: "/shared.js", Role: tokens.Viewer, Style: api.Asset, Summary: "What the pages' scripts share", Handle: s.servePage("shared.js"), Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript", Body: nil, Media: "text/javascript"}}},
		{Method: http.MethodGet, Path: "/gate.js", Role: tokens.Viewer, Style: api.Asset, Summary: "The gate page's script", Handle: s.servePage("gate.js"), Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript", Body: nil, Media: "text/javascript"}}},
		{Method: http.MethodGet, Path: "/inbox.js", Role: tokens.Viewer, Style: api.Asset, Summary: "The inbox page's script", Handle: s.servePage("inbox.js"), Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript", Body: nil, Media: "text/javascript"}}},
	}
}

// pages holds the embedded files and the pages made from templates.
type pages struct {
	files     map[string][]byte
	tags      map[string]string // ETags
	loginForm *template.Template
	docPage   []byte
}

func newPages(routes []*api.Route) (*pages, error) {
	p := &pages{files: map[string][]byte{}, tags: map[string]string{}}
	entries, err := ui.Files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := ui.Files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		p.files[e.Name()], p.tags[e.Name()] = data, `"`+hex.EncodeToString(sum[:8])+`"`
	}
	if p.loginForm, err = template.New("login").Parse(string(p.files["login.html"])); err != nil {
		return nil, err
	}
	docs, err := template.New("docs").Parse(string(p.files["docs.html"]))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := docs.Execute(&b, docRows(routes)); err != nil {
		return nil, err
	}
	p.docPage = b.Bytes()
	return p, nil
}

// A docRow is a route as the documentation page shows it.
type docRow struct {
	Method, Path, Summary, Notes, Role string
	Params                             []docField
	Body                               []docField
	Answers                            []docField
}

type docField struct{ Name, Help string }

func docRows(routes []*api.Route) (rows []docRow) {
	for _, r := range routes {
		if r.Style == api.Asset {
			continue
		}
		row := docRow{Method: r.Method, Path: strings.TrimSuffix(r.Path, "{$}"), Summary: r.Summary, Notes: r.Notes, Role: string(r.Role)}
		for _, p := range r.Query {
			help := p.Help
			if len(p.Values) > 0 {
				help += "; one of " + strings.Join(p.Values, ", ")
			}
			if p.Def != "" {
				help += "; default " + p.Def
			}
			row.Params = append(row.Params, docField{p.Name, help})
		}
		if r.Body != nil {
			for _, f := range strict.Fields(reflect.TypeOf(r.Body)) {
				row.Body = append(row.Body, docField{f.Name, f.Help})
			}
		}
		for _, a := range r.Answers {
			row.Answers = append(row.Answers, docField{api.StatusWord(a.Status), a.Help})
		}
		rows = append(rows, row)
	}
	return rows
}

func pageHeaders(w http.ResponseWriter, contentType string) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Frame-Options", "DENY")
}

// mediaType does not ask the machine, whose tables may say something else.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	}
	return "image/svg+xml"
}

// servePage answers with an embedded file. A browser asks each time whether
// it changed: a new version of the server must not run an old page.
func (s *Server) servePage(name string) func(http.ResponseWriter, *api.Request) error {
	return func(w http.ResponseWriter, r *api.Request) error {
		pageHeaders(w, mediaType(name))
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", s.pages.tags[name])
		if r.Header.Get("If-None-Match") == s.pages.tags[name] {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		_, _ = w.Write(s.pages.files[name]) // the client may be gone: nobody else to tell
		return nil
	}
}

func (s *Server) docs(w http.ResponseWriter, _ *api.Request) error {
	pageHeaders(w, "text/html; charset=utf-8")
	_, _ = w.Write(s.pages.docPage) // the client may be gone: nobody else to tell
	return nil
}

func (s *Server) loginPage(w http.ResponseWriter, _ *api.Request) error {
	s.pages.login(w, http.StatusOK, "")
	return nil
}

// login shows the login page, with what was wrong the last time.
func (p *pages) login(w http.ResponseWriter, status int, wrong string) {
	var b bytes.Buffer
	if err := p.loginForm.Execute(&b, wrong); err != nil {
		problem.Write(w, err)
		return
	}
	pageHeaders(w, "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone: nobody else to tell
}

func (s *Server) login(w http.ResponseWriter, r *api.Request) error {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return &posthouse.Error{Code: problem.CodeMediaType, Field: "Content-Type", Message: "must be application/x-www-form-urlencoded", Hint: "use the form at /login"}
	}
	if err := r.ParseForm(); err != nil {
		if problem.Client(err).Code == posthouse.CodeTooLarge {
			return err
		}
		return strict.Invalid("body", "is not a form")
	}
	tok, ok, err := s.tokens.Authenticate(strings.TrimSpace(r.PostForm.Get("token")))
	if err != nil {
		return s.authUnavailable(err)
	}
	if !ok {
		problem := "That token is not valid. Copy the whole line of the file named token in the server's data directory, or ask an operator for one."
		if s.tokens.Expired(tok) {
			problem = "That token, of " + tok.Name + ", expired at " + tok.ExpiresAt.Format(time.RFC3339) + ". Ask an operator for another."
		}
		s.pages.login(w, http.StatusUnauthorized, problem)
		return nil
	}
	s.uses(tok)
	api.NoteActor(w, tok.Name)
	http.SetCookie(w, s.sessions.cookie(r.Request, s.sessions.begin(tok)))
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (s *Server) logout(w http.ResponseWriter, r *api.Request) error {
	if c, err := r.Cookie(api.SessionCookie); err == nil {
		s.sessions.end(c.Value)
	}
	http.SetCookie(w, s.sessions.cookie(r.Request, ""))
	w.Header().Set("Location", "/login")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

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
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/tokens"
	"github.com/posthouse/posthouse/ui"
)

// pagePolicy lets a page load what this server serves and nothing else: no
// inline script or style, no frame around it, no form that goes elsewhere.
const pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

func pageRoutes() []*route {
	html := []answer{{http.StatusOK, "a page", nil, "text/html"}}
	return []*route{
		{method: http.MethodGet, path: "/{$}", role: tokens.Viewer, style: page, summary: "The inbox page", handle: servePage("index.html"), answers: html},
		{method: http.MethodGet, path: "/gates/{id}", role: tokens.Viewer, style: page, summary: "The page of a gate: who decided it, and what ran under the decision", handle: servePage("gate.html"), answers: html},
		{method: http.MethodGet, path: "/docs", role: tokens.Viewer, style: page, summary: "This description, for people", handle: (*Server).docs, answers: html},
		{method: http.MethodGet, path: "/login", style: page, summary: "The login page", handle: (*Server).loginPage, answers: html},
		{
			method: http.MethodPost, path: "/login", style: page, form: true, summary: "Log in with an access token", handle: (*Server).login,
			notes:   "Sets the session cookie, HttpOnly and SameSite=Strict, and leads to the inbox.",
			answers: []answer{{http.StatusSeeOther, "logged in", nil, ""}, {http.StatusUnauthorized, "the login page again", nil, "text/html"}},
		},
		{
			method: http.MethodPost, path: "/logout", style: page, form: true, role: tokens.Viewer, summary: "Log out", handle: (*Server).logout,
			answers: []answer{{http.StatusSeeOther, "logged out", nil, ""}},
		},
		{method: http.MethodGet, path: "/login/style.css", style: asset, summary: "The pages' style", handle: servePage("style.css"), answers: []answer{{http.StatusOK, "CSS", nil, "text/css"}}},
		{method: http.MethodGet, path: "/login/icon.svg", style: asset, summary: "The pages' icon", handle: servePage("icon.svg"), answers: []answer{{http.StatusOK, "SVG", nil, "image/svg+xml"}}},
		{method: http.MethodGet, path: "/json.js", role: tokens.Viewer, style: asset, summary: "How the inbox page reads JSON", handle: servePage("json.js"), answers: []answer{{http.StatusOK, "JavaScript", nil, "text/javascript"}}},
		{method: http.MethodGet, path: "/shared.js", role: tokens.Viewer, style: asset, summary: "What the pages' scripts share", handle: servePage("shared.js"), answers: []answer{{http.StatusOK, "JavaScript", nil, "text/javascript"}}},
		{method: http.MethodGet, path: "/gate.js", role: tokens.Viewer, style: asset, summary: "The gate page's script", handle: servePage("gate.js"), answers: []answer{{http.StatusOK, "JavaScript", nil, "text/javascript"}}},
		{method: http.MethodGet, path: "/inbox.js", role: tokens.Viewer, style: asset, summary: "The inbox page's script", handle: servePage("inbox.js"), answers: []answer{{http.StatusOK, "JavaScript", nil, "text/javascript"}}},
	}
}

// pages holds the embedded files and the pages made from templates.
type pages struct {
	files     map[string][]byte
	tags      map[string]string // ETags
	loginForm *template.Template
	docPage   []byte
}

func newPages(routes []*route) (*pages, error) {
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

func docRows(routes []*route) (rows []docRow) {
	for _, r := range routes {
		if r.style == asset {
			continue
		}
		row := docRow{Method: r.method, Path: strings.TrimSuffix(r.path, "{$}"), Summary: r.summary, Notes: r.notes, Role: string(r.role)}
		for _, p := range r.query {
			help := p.help
			if len(p.values) > 0 {
				help += "; one of " + strings.Join(p.values, ", ")
			}
			if p.def != "" {
				help += "; default " + p.def
			}
			row.Params = append(row.Params, docField{p.name, help})
		}
		if r.body != nil {
			for _, f := range strict.Fields(reflect.TypeOf(r.body)) {
				row.Body = append(row.Body, docField{f.Name, f.Help})
			}
		}
		for _, a := range r.answers {
			row.Answers = append(row.Answers, docField{statusWord(a.status), a.help})
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
func servePage(name string) func(*Server, http.ResponseWriter, *request) error {
	return func(s *Server, w http.ResponseWriter, r *request) error {
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

func (s *Server) docs(w http.ResponseWriter, _ *request) error {
	pageHeaders(w, "text/html; charset=utf-8")
	_, _ = w.Write(s.pages.docPage) // the client may be gone: nobody else to tell
	return nil
}

func (s *Server) loginPage(w http.ResponseWriter, _ *request) error {
	s.pages.login(w, http.StatusOK, "")
	return nil
}

// login shows the login page, with what was wrong the last time.
func (p *pages) login(w http.ResponseWriter, status int, problem string) {
	var b bytes.Buffer
	if err := p.loginForm.Execute(&b, problem); err != nil {
		writeProblem(w, err)
		return
	}
	pageHeaders(w, "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone: nobody else to tell
}

func (s *Server) login(w http.ResponseWriter, r *request) error {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/x-www-form-urlencoded" {
		return &posthouse.Error{Code: CodeMediaType, Field: "Content-Type", Message: "must be application/x-www-form-urlencoded", Hint: "use the form at /login"}
	}
	if err := r.ParseForm(); err != nil {
		if clientError(err).Code == posthouse.CodeTooLarge {
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
	noteActor(w, tok.Name)
	http.SetCookie(w, s.sessions.cookie(r.Request, s.sessions.begin(tok)))
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (s *Server) logout(w http.ResponseWriter, r *request) error {
	if c, err := r.Cookie(sessionCookie); err == nil {
		s.sessions.end(c.Value)
	}
	http.SetCookie(w, s.sessions.cookie(r.Request, ""))
	w.Header().Set("Location", "/login")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
	"reflect"
	"strings"

	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/internal/strict"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/ui"
)

// pagePolicy lets a page load only what this server serves. It allows no inline
// script or style, no frame around it and no form that goes elsewhere.
const pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// Pages holds the embedded files; docs.html is made of its template.
type Pages struct {
	auth      *auth.Authenticator
	files     map[string][]byte
	tags      map[string]string // ETags
	assets    map[string]assetFile
	loginForm *template.Template
}

// New reads the embedded files. [Pages.Describe] completes them.
func New(a *auth.Authenticator) (*Pages, error) {
	p := &Pages{auth: a, files: map[string][]byte{}, tags: map[string]string{}}
	entries, err := ui.Files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := ui.Files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		p.add(e.Name(), data)
	}
	p.loginForm, err = template.New("login").Parse(string(p.files["login.html"]))
	if err != nil {
		return nil, err
	}
	return p, p.readSite()
}

// Describe makes the page that describes the routes for people. It is called once, before
// anything is served.
func (p *Pages) Describe(routes []*api.Route) error {
	return p.fill("docs.html", docRows(routes))
}

// fill makes a page of the template that its file is.
func (p *Pages) fill(name string, data any) error {
	t, err := template.New(name).Parse(string(p.files[name]))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return err
	}
	p.add(name, b.Bytes())
	return nil
}

func (p *Pages) add(name string, data []byte) {
	sum := sha256.Sum256(data)
	p.files[name], p.tags[name] = data, `"`+hex.EncodeToString(sum[:8])+`"`
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
		if r.Approval {
			row.Role = "approval token"
		}
		if r.Signed {
			row.Role = "signature"
		}
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

// mediaType does not ask the machine: its tables may say something else.
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

// writeFile answers with an embedded file.
func (p *Pages) writeFile(w http.ResponseWriter, r *http.Request, name string) {
	p.write(w, r, name, mediaType(name))
}

func (p *Pages) write(w http.ResponseWriter, r *http.Request, name, contentType string) {
	pageHeaders(w, contentType)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", p.tags[name])
	if r.Header.Get("If-None-Match") == p.tags[name] {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(p.files[name]) // the client may be gone
}

// A Form is what the login page shows.
type Form struct {
	Wrong string // the last time
	Next  string // the path to go on at

	// Provider is where people log in without a token; "" is nowhere. [Pages.Login] fills it in.
	Provider string
}

// Login shows the login page.
func (p *Pages) Login(w http.ResponseWriter, status int, f Form) {
	var b bytes.Buffer
	f.Provider = p.auth.Provider
	if err := p.loginForm.Execute(&b, f); err != nil {
		problem.Write(w, err)
		return
	}
	pageHeaders(w, "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

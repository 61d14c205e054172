package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"net/http"
	"path"
	"time"

	"github.com/posthouse/posthouse/server/internal/auth"
	"github.com/posthouse/posthouse/server/problem"
	"github.com/posthouse/posthouse/ui"
)

// pagePolicy lets a page load only what this server serves. It allows no inline
// script or style, no frame around it and no form that goes elsewhere.
const pagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// Pages holds the embedded files.
type Pages struct {
	auth      *auth.Authenticator
	files     map[string][]byte
	tags      map[string]string // ETags
	assets    map[string]assetFile
	docs      docs
	loginForm *template.Template
	codes     codes
	now       func() time.Time
}

// New reads the embedded files.
func New(a *auth.Authenticator, now func() time.Time) (*Pages, error) {
	p := &Pages{auth: a, now: now, files: map[string][]byte{}, tags: map[string]string{}}
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
	if err := p.readSite(); err != nil {
		return nil, err
	}
	p.loginForm, err = template.New("login").Parse(string(p.files["login.html"]))
	return p, err
}

func (p *Pages) add(name string, data []byte) {
	sum := sha256.Sum256(data)
	p.files[name], p.tags[name] = data, `"`+hex.EncodeToString(sum[:8])+`"`
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

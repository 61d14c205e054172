package page

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/ui"
)

// inboxPath is the first page.
const inboxPath = "/{$}"

// screens are the addresses of the application: it shows what an address is of.
var screens = []struct{ path, summary string }{
	{inboxPath, "The inbox: what waits for a decision, and what was decided"},
	{"/gates/{id}", "A gate: what is asked, who decided it, and what ran under the decision"},
	{"/threads", "Threads: all lines of work, by what is going on in them"},
	{"/file", "A thread that was exported into a file: it is looked at, and not kept"},
	{"/threads/{id}", "A thread: its branches, a row a checkpoint, and what each changed"},
	{"/workers", "Workers and tasks: who is connected, what waits for them, and what went wrong"},
	{"/programs", "Programs: what is served here, and how much of it needs somebody"},
	{"/programs/{program}", "A program: where its threads are, how a run begins, and its versions"},
	{"/proof", "Proof: verification, keys, witnesses, and who did what"},
	{"/overview", "The overview: what goes on, in figures"},
	{"/settings", "Settings: of a person, and of the server as far as the role allows"},
}

// siteRoutes are the routes of the application and of its files.
func (p *Pages) siteRoutes() (rs []*api.Route) {
	html := []api.Answer{{Status: http.StatusOK, Help: "a page", Body: nil, Media: "text/html"}}
	for _, s := range screens {
		rs = append(rs, &api.Route{Method: http.MethodGet, Path: s.path, Style: api.Page, Others: true, Summary: s.summary, Handle: p.application, Answers: html})
	}
	return append(rs, &api.Route{
		Method: http.MethodGet, Path: "/assets/{file}", Style: api.Asset, Summary: "A file of the application", Handle: p.asset,
		Notes:   "Names have a hash of the content, so browsers keep these files.",
		Answers: []api.Answer{{Status: http.StatusOK, Help: "JavaScript, CSS or a font", Body: nil, Media: "application/octet-stream"}},
	})
}

// readSite reads the application's pages and files, those of assets by their names without .gz.
func (p *Pages) readSite() error {
	p.assets = map[string]assetFile{}
	return fs.WalkDir(ui.Site, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := ui.Site.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".html" {
			p.add(path.Base(name), data)
			return nil
		}
		plain, compressed := strings.CutSuffix(path.Base(name), ".gz")
		p.assets[plain] = assetFile{data, compressed}
		return nil
	})
}

// An assetFile is a file of the application, as it is embedded.
type assetFile struct {
	data       []byte
	compressed bool
}

func (p *Pages) application(w http.ResponseWriter, r *api.Request) error {
	p.writeFile(w, r.Request, "index.html")
	return nil
}

// Missing answers under an address that has nothing, if a browser asks for a page to show: with the
// application, which says so and shows the ways on. It reports whether it did. The answer says
// nothing of what is served, so it needs no login.
func (p *Pages) Missing(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || !strings.Contains(r.Header.Get("Accept"), "text/html") || strings.HasPrefix(r.URL.Path, "/api/") {
		return false
	}
	pageHeaders(w, "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write(p.files["index.html"]) // the client may be gone
	return true
}

// asset answers with a file that never changes under its name.
func (p *Pages) asset(w http.ResponseWriter, r *api.Request) error {
	name := r.PathValue("file")
	f, ok := p.assets[name]
	if !ok {
		return &posthouse.Error{Code: posthouse.CodeNotFound, Message: "there is no file " + name, Hint: "load the page again: the server was updated"}
	}
	pageHeaders(w, assetType(name))
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return f.write(w, r, http.StatusOK)
}

// write answers with a file, compressed if it is and the client takes that.
func (f *assetFile) write(w http.ResponseWriter, r *api.Request, status int) error {
	w.Header().Set("Vary", "Accept-Encoding")
	data := f.data
	switch {
	case f.compressed && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"):
		w.Header().Set("Content-Encoding", "gzip")
	case f.compressed:
		plain, err := gzip.NewReader(bytes.NewReader(f.data))
		if err != nil {
			return err
		}
		data, err = io.ReadAll(plain)
		if err != nil {
			return err
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client may be gone
	return nil
}

// assetType does not ask the machine: its tables may say something else.
func assetType(name string) string {
	if path.Ext(name) == ".woff2" {
		return "font/woff2"
	}
	return mediaType(name)
}

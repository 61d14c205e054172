package page

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/ui"
)

// maxDocs bounds the documentation as it is read, in bytes.
const maxDocs = 16 << 20

// fullFile has all guides.
const fullFile = "llms-full.txt"

// figurePolicy is of figures, which have styles of their own. A picture loads nothing, and runs nothing.
const figurePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// docs are the documentation's pages and their files, by their names below /docs. They are unpacked when
// the first is asked for.
type docs struct {
	once  sync.Once
	files map[string]docsFile
	err   error
}

// A docsFile is one, compressed unless it is a picture of points.
type docsFile struct {
	assetFile
	tag string
}

// docsRoutes are the routes of the documentation. It holds no data, and so is public.
func (p *Pages) docsRoutes() []*api.Route {
	html := []api.Answer{{Status: http.StatusOK, Help: "a page", Body: nil, Media: "text/html"}}
	return []*api.Route{
		{Method: http.MethodGet, Path: "/docs", Style: api.Page, Summary: "The documentation: its contents", Handle: p.docsPage("index"), Answers: html},
		{
			Method: http.MethodGet, Path: "/docs/{page}", Style: api.Page, Summary: "A page of the documentation", Answers: html,
			Notes: "/docs/api is this description, for people, with a form to try each path.",
			Handle: func(w http.ResponseWriter, r *api.Request) error {
				switch name := r.PathValue("page"); name {
				case "api", "api.css", "api.js":
					if path.Ext(name) == "" {
						name += ".html"
					}
					p.writeFile(w, r.Request, name)
					return nil
				default:
					return p.docsPage(name)(w, r)
				}
			},
		},
		{
			Method: http.MethodGet, Path: "/docs/{section}/{page}", Style: api.Page, Summary: "A page of a part of the documentation, or a file of its pages", Answers: html,
			Handle: func(w http.ResponseWriter, r *api.Request) error {
				return p.docsPage(r.PathValue("section")+"/"+r.PathValue("page"))(w, r)
			},
		},
		{
			Method: http.MethodGet, Path: "/llms.txt", Style: api.Asset, Summary: "The contents of the documentation, for programs that read", Handle: p.docsPage("llms.txt"),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "Markdown", Body: nil, Media: "text/plain"}},
		},
		{
			Method: http.MethodGet, Path: "/" + fullFile, Style: api.Asset, Summary: "All guides of the documentation in one text, for programs that read", Handle: p.docsPage(fullFile),
			Answers: []api.Answer{{Status: http.StatusOK, Help: "Markdown", Body: nil, Media: "text/plain"}},
		},
	}
}

// docsPage answers with a page of the documentation, or a file of the pages. The name of a Markdown file
// leads to its page.
func (p *Pages) docsPage(name string) api.Handler {
	return func(w http.ResponseWriter, r *api.Request) error {
		p.docs.once.Do(p.docs.read)
		if p.docs.err != nil {
			return p.docs.err
		}
		if page, isMarkdown := strings.CutSuffix(name, ".md"); isMarkdown && p.docs.files[page+".html"].tag != "" {
			return leadTo("/docs/"+page)(w, r)
		}
		status := http.StatusOK
		f, ok := p.docs.files[name]
		if !ok && path.Ext(name) == "" {
			name += ".html"
			f, ok = p.docs.files[name]
		}
		if !ok {
			name, status = "missing.html", http.StatusNotFound
			f = p.docs.files[name]
		}
		switch path.Ext(name) {
		case ".json", ".txt": // they load nothing
			w.Header().Set("Content-Type", docsType(name))
		case ".svg":
			pageHeaders(w, docsType(name))
			w.Header().Set("Content-Security-Policy", figurePolicy)
		default:
			pageHeaders(w, docsType(name))
		}
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", f.tag)
		if status == http.StatusOK && r.Header.Get("If-None-Match") == f.tag {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		return f.write(w, r, status)
	}
}

func docsType(name string) string {
	switch path.Ext(name) {
	case ".json":
		return "application/json"
	case ".png":
		return "image/png"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return mediaType(name)
}

// read unpacks the documentation, and keeps it as it is sent.
func (d *docs) read() {
	d.files, d.err = unpack(ui.Docs)
	if d.err != nil {
		return
	}
	z, err := zstd.NewReader(bytes.NewReader(ui.Full), zstd.WithDecoderMaxMemory(maxDocs), zstd.WithDecoderConcurrency(1))
	if err != nil {
		d.err = err
		return
	}
	defer z.Close()
	data, err := io.ReadAll(z)
	d.files[fullFile], d.err = docsFileOf(fullFile, data), err
}

func unpack(packed []byte) (map[string]docsFile, error) {
	z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderMaxMemory(maxDocs), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	files := map[string]docsFile{}
	t := tar.NewReader(z)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		files[h.Name] = docsFileOf(h.Name, data)
	}
}

// docsFileOf returns a file as it is sent.
func docsFileOf(name string, data []byte) docsFile {
	sum := sha256.Sum256(data)
	f := docsFile{assetFile{data, false}, `"` + hex.EncodeToString(sum[:8]) + `"`}
	if path.Ext(name) != ".png" {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(data) // a buffer takes everything
		_ = w.Close()
		f.assetFile = assetFile{b.Bytes(), true}
	}
	return f
}

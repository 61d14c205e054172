package main

import (
	"archive/tar"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// parts are the look and the scripts of the pages.
//
//go:embed site
var parts embed.FS

// A view is what the template of a page takes.
type view struct {
	Site     *site
	Page     *page
	Body     template.HTML
	Edit     string // where its source is
	Before   *page
	After    *page
	Contents bool // it is the first page
}

// files returns all files that the server has below /docs, by name.
func (s *site) files() (map[string][]byte, error) {
	t, err := template.New("").ParseFS(parts, "site/*.html")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	put := func(name string, data []byte) { files[name] = data }
	for i, p := range s.all() {
		v := view{Site: s, Page: p, Body: template.HTML(p.Body), Edit: repositoryURL + "/blob/main/" + p.File, Contents: i == 0}
		if i > 1 {
			v.Before = s.order[i-2]
		}
		if i > 0 && i < len(s.order) {
			v.After = s.order[i]
		}
		var b bytes.Buffer
		if err := t.ExecuteTemplate(&b, "page.html", &v); err != nil {
			return nil, err
		}
		put(nameOf(p.Address), b.Bytes())
	}
	missing := view{Site: s, Page: &page{Title: "No such page", Name: "No such page"}, Body: "<h1>There is no such page</h1>\n<p>It may have moved. Search for it, or begin at the <a href=\"/docs\">contents</a>.</p>"}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "page.html", &missing); err != nil {
		return nil, err
	}
	put("missing.html", b.Bytes())
	put("llms.txt", s.llms(true))
	search, err := s.searchIndex()
	if err != nil {
		return nil, err
	}
	put("assets/search.json", search)
	style, err := s.style()
	if err != nil {
		return nil, err
	}
	put("assets/docs.css", style)
	for _, name := range []string{"docs.js", "theme.js", "contents.js"} {
		data, err := parts.ReadFile("site/" + name)
		if err != nil {
			return nil, err
		}
		put("assets/"+name, bytes.Replace(data, []byte("CONTENTS"), s.contents(), 1))
	}
	for name, data := range s.beside {
		put(name, data)
	}
	return files, nil
}

// contents are the sections with their pages, for the script.
func (s *site) contents() []byte {
	all := [][]any{}
	for _, of := range s.Sections {
		one := []any{of.Title}
		for _, p := range of.Pages {
			one = append(one, []string{p.Name, p.Address})
		}
		all = append(all, one)
	}
	data, err := json.Marshal(all)
	if err != nil {
		panic(err) // texts
	}
	return data
}

// nameOf is the file of an address.
func nameOf(address string) string {
	if address == "/docs" {
		return "index.html"
	}
	return strings.TrimPrefix(address, "/docs/") + ".html"
}

// style is the pages' style on the tokens of the application, with the fonts that it serves.
func (s *site) style() ([]byte, error) {
	tokens, err := os.ReadFile(filepath.Join(s.root, "ui/web/src/styles/tokens.css"))
	if err != nil {
		return nil, err
	}
	own, err := parts.ReadFile("site/docs.css")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	served, err := os.ReadDir(filepath.Join(s.root, "ui/dist/assets"))
	if err != nil {
		return nil, err
	}
	for _, font := range []struct{ family, weight, word string }{{"Inter Variable", "100 900", "inter"}, {"IBM Plex Mono", "400", "mono"}} {
		i := slices.IndexFunc(served, func(f os.DirEntry) bool {
			name := strings.ToLower(f.Name())
			return strings.HasSuffix(name, ".woff2") && strings.Contains(name, font.word) && !strings.Contains(name, "-ext-") // the other alphabets
		})
		if i < 0 {
			return nil, fmt.Errorf("ui/dist/assets has no font of %s", font.family)
		}
		fmt.Fprintf(&b, "@font-face{font-family:%q;font-weight:%s;font-display:swap;src:url(/assets/%s) format(\"woff2\")}\n", font.family, font.weight, served[i].Name())
	}
	return bytes.Join([][]byte{b.Bytes(), tokens, own}, nil), nil
}

// archive is the files in one, in the order of their names: pages have much in common, and are smaller so.
func archive(files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Format: tar.FormatUSTAR})
		if err != nil {
			return nil, err
		}
		if _, err := t.Write(files[name]); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	return compressed(b.Bytes())
}

// compressed returns data as zstd, the same for the same data.
func compressed(data []byte) ([]byte, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return z.EncodeAll(data, nil), nil
}

// window is how far back a page can refer to others, in bytes. The server needs as much memory to read it.
const window = 4 << 20

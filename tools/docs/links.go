package main

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

var anchorTag = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)

// resolveLinks has each link of a page lead to a page of ours, or to the public repository. One that
// leads nowhere is a fault.
func (s *site) resolveLinks(p *page) {
	_ = ast.Walk(p.tree, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if in {
				n.Destination = []byte(s.target(p, string(n.Destination)))
				if bytes.HasPrefix(n.Destination, []byte("http")) {
					n.SetAttributeString("rel", []byte("noreferrer"))
				}
			}
		case *ast.Image:
			if in {
				n.Destination = []byte(s.picture(p, string(n.Destination)))
			}
		}
		return ast.WalkContinue, nil
	})
}

// target returns where a link of a page leads, and checks that there is something.
func (s *site) target(p *page, link string) string {
	u, err := url.Parse(link)
	switch {
	case err != nil:
		s.fault(p.File, "%s is no link", link)
		return link
	case u.Scheme == "http" || u.Scheme == "https":
		if rest, ours := strings.CutPrefix(link, repositoryURL+"/blob/main/"); ours {
			file, _, _ := strings.Cut(rest, "#")
			s.exists(p, link, file)
		}
		if rest, ours := strings.CutPrefix(link, "https://pkg.go.dev/github.com/posthouse/posthouse/"); ours {
			file, _, _ := strings.Cut(rest, "#")
			s.exists(p, link, file)
		}
		return link
	case u.Scheme != "":
		return link // mailto
	case strings.HasPrefix(u.Path, "/"):
		s.fault(p.File, "%s leads to a server: give the path of a file", link)
		return link
	}
	file := p.File
	if u.Path != "" {
		file = path.Join(path.Dir(p.File), u.Path)
	}
	if to := s.pages[file]; to != nil {
		if u.Fragment == "" {
			return to.Address
		}
		if !s.anchors[file][u.Fragment] {
			s.fault(p.File, "%s leads to no heading of %s", link, file)
		}
		if to == p {
			return "#" + u.Fragment
		}
		return to.Address + "#" + u.Fragment
	}
	return s.inRepository(p, link, file, u.Fragment)
}

// inRepository returns where the public repository has a file or a directory.
func (s *site) inRepository(p *page, link, file, fragment string) string {
	info := s.exists(p, link, file)
	if info == nil {
		return link
	}
	kind := "/blob/main/"
	if info.IsDir() {
		kind = "/tree/main/"
	}
	to := repositoryURL + kind + file
	if file == "." {
		to = repositoryURL
	}
	if fragment == "" {
		return to
	}
	if path.Ext(file) == ".md" && !s.anchorsOf(file)[fragment] {
		s.fault(p.File, "%s leads to no heading of %s", link, file)
	}
	return to + "#" + fragment
}

// anchorsOf returns the anchors of a Markdown file that is no page.
func (s *site) anchorsOf(file string) map[string]bool {
	if s.anchors[file] == nil {
		text, err := os.ReadFile(filepath.Join(s.root, file))
		if err != nil {
			return nil
		}
		s.parse(&page{File: file, source: text})
	}
	return s.anchors[file]
}

// exists looks a file of the repository up that a link names. It returns nil, and keeps a fault, where
// there is none.
func (s *site) exists(p *page, link, file string) fs.FileInfo {
	if !fs.ValidPath(file) {
		s.fault(p.File, "%s leads out of the repository", link)
		return nil
	}
	info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(file)))
	if err != nil {
		s.fault(p.File, "%s leads to no file", link)
		return nil
	}
	return info
}

// checkOthers checks the links of the Markdown that is no page: of examples, say, and of the pages' sources.
func (s *site) checkOthers() {
	err := filepath.WalkDir(s.root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && at != s.root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "dist" || name == "build" || name == "bin") {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(s.root, at)
		file := filepath.ToSlash(rel)
		if err != nil || d.IsDir() || path.Ext(file) != ".md" || s.pages[file] != nil {
			return err
		}
		source, err := os.ReadFile(at)
		p := &page{File: file, source: source}
		s.parse(p)
		s.resolveLinks(p)
		return err
	})
	if err != nil {
		s.faults = append(s.faults, err)
	}
}

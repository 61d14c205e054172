package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// repositoryURL is where links lead that leave the pages.
const repositoryURL = "https://github.com/posthouse/posthouse"

// A site is the pages of a repository.
type site struct {
	root     string
	About    string // in a sentence
	Sections []*section

	pages   map[string]*page // by file
	order   []*page          // as the contents have them
	anchors map[string]map[string]bool
	beside  map[string][]byte // pictures and figures, by name
	faults  []error
}

// A page is one Markdown file.
type page struct {
	File, Address string
	Name          string // in the navigation
	Title         string
	Summary       string // what the contents say of it
	Body          []byte // HTML
	section       *section
	source        []byte
	tree          ast.Node
}

// outside are files beside docs that are pages, too.
var outside = []string{"README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"}

// build reads a repository and renders all its pages. It fails with everything that is wrong.
func build(root string) (*site, error) {
	s := &site{root: root, pages: map[string]*page{}, anchors: map[string]map[string]bool{}, beside: map[string][]byte{}}
	if err := s.readPages(); err != nil {
		return nil, err
	}
	if err := s.readContents(); err != nil {
		return nil, err
	}
	for _, p := range s.all() {
		s.parse(p)
	}
	for _, p := range s.all() {
		s.resolveLinks(p)
		if err := s.render(p); err != nil {
			return nil, fmt.Errorf("%s: %w", p.File, err)
		}
	}
	s.checkOthers()
	s.checkFigures()
	slices.SortFunc(s.faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return s, errors.Join(s.faults...)
}

// fault keeps what is wrong in a file.
func (s *site) fault(file, format string, args ...any) {
	s.faults = append(s.faults, fmt.Errorf("%s: "+format, append([]any{file}, args...)...))
}

// all returns the pages in the order of the contents, the contents first.
func (s *site) all() []*page { return append([]*page{s.pages[contentsFile]}, s.order...) }

// readPages reads the Markdown of docs and of the files beside it.
func (s *site) readPages() error {
	files := slices.Clone(outside)
	err := filepath.WalkDir(filepath.Join(s.root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		rel, err := filepath.Rel(s.root, path)
		files = append(files, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(s.root, file))
		if err != nil {
			return err
		}
		p := &page{File: file, Address: addressOf(file), source: text}
		if m := titleOf.FindSubmatch(text); m != nil {
			p.Title = string(bytes.ReplaceAll(m[1], []byte("`"), nil))
			p.Name = p.Title
		} else {
			s.fault(file, "begins with no title")
		}
		s.pages[file] = p
	}
	if s.pages[contentsFile] == nil {
		return fmt.Errorf("there is no %s", contentsFile)
	}
	return nil
}

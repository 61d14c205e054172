package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// figuresDir has the pictures of figures. The source of each is the block of Mermaid in its page, and a
// picture says of which source it was made: make figures draws those that are missing or old.
const figuresDir = "docs/figures"

// themes are those that a figure is drawn in.
var themes = []string{"light", "dark"}

var madeOf = regexp.MustCompile(`<!-- made of ([0-9a-f]{16}) -->`)

// digestOf names the source of a figure.
func digestOf(source string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(source)))
	return hex.EncodeToString(sum[:8])
}

// figureName is the name of a page's figure, without theme and ending: of docs/graph.md the first is graph-1.
func figureName(file string, n int) string {
	name := strings.TrimSuffix(strings.TrimPrefix(file, "docs/"), ".md")
	return fmt.Sprintf("%s-%d", strings.ToLower(strings.ReplaceAll(name, "/", "-")), n)
}

var accTitle = regexp.MustCompile(`(?m)^\s*accTitle:\s*(.+)$`)

// figure writes the pictures of a figure in both themes. One that is missing or old is a fault.
func (s *site) figure(p *page, n int, section, source string) string {
	name := figureName(p.File, n)
	alt := "Figure: " + section
	if m := accTitle.FindStringSubmatch(source); m != nil {
		alt = m[1]
	}
	var b strings.Builder
	b.WriteString("<figure>")
	for _, theme := range themes {
		file := name + "." + theme + ".svg"
		svg, err := os.ReadFile(filepath.Join(s.root, figuresDir, file))
		if m := madeOf.FindSubmatch(svg); err != nil || m == nil || string(m[1]) != digestOf(source) {
			s.fault(p.File, "figure %d has no picture of its source in %s; make figures draws it", n, path.Join(figuresDir, file))
		}
		s.beside["figures/"+file] = bytes.TrimSpace(svg)
		size, width := sizeOf(svg)
		class := theme
		if width > 760 {
			class += " wide"
		}
		if width > maxFit {
			class += " huge"
		}
		fmt.Fprintf(&b, `<img class="%s" src="/docs/figures/%s" alt="%s"%s loading="lazy">`, class, file, html.EscapeString(alt), size)
	}
	b.WriteString("</figure>\n")
	return b.String()
}

var viewBox = regexp.MustCompile(`viewBox="[-0-9.]+ [-0-9.]+ ([0-9]+)[0-9.]* ([0-9]+)`)

// maxFit is the widest figure that is made as narrow as the page, in pixels. A wider one scrolls, so that
// its words can be read.
const maxFit = 1320

// sizeOf gives the picture its room before it is loaded, and returns its width.
func sizeOf(svg []byte) (attributes string, width int) {
	m := viewBox.FindSubmatch(svg)
	if m == nil {
		return "", 0
	}
	width, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return "", 0
	}
	return fmt.Sprintf(` width="%s" height="%s"`, m[1], m[2]), width
}

// checkFigures finds pictures that no page shows any more.
func (s *site) checkFigures() {
	files, err := os.ReadDir(filepath.Join(s.root, figuresDir))
	if err != nil && !os.IsNotExist(err) {
		s.faults = append(s.faults, err)
	}
	for _, f := range files {
		if path.Ext(f.Name()) == ".svg" && s.beside["figures/"+f.Name()] == nil {
			s.fault(path.Join(figuresDir, f.Name()), "is the picture of no figure: make figures takes it away")
		}
	}
}

// A drawing is a figure that is to be drawn.
type drawing struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Source string `json:"source"`
}

var mermaidBlock = regexp.MustCompile("(?ms)^```mermaid\n(.*?)^```$")

// listFigures returns the figures without a picture of their source, and removes pictures of no figure.
func listFigures(root string) ([]drawing, error) {
	s := &site{root: root, pages: map[string]*page{}}
	if err := s.readPages(); err != nil {
		return nil, err
	}
	todo, names := []drawing{}, map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(s.pages)) {
		for i, m := range mermaidBlock.FindAllSubmatch(s.pages[file].source, -1) {
			d := drawing{figureName(file, i+1), digestOf(string(m[1])), string(m[1])}
			for _, theme := range themes {
				name := d.Name + "." + theme + ".svg"
				names[name] = true
				svg, err := os.ReadFile(filepath.Join(root, figuresDir, name))
				if made := madeOf.FindSubmatch(svg); err != nil || made == nil || string(made[1]) != d.Digest {
					todo = append(todo, d)
					break
				}
			}
		}
	}
	old, err := filepath.Glob(filepath.Join(root, figuresDir, "*.svg"))
	for _, path := range old {
		if !names[filepath.Base(path)] {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return todo, err
}

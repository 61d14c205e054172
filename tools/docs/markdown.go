package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// newMarkdown returns what reads and writes Markdown as GitHub does. Nothing has a style of its own: the
// pages' policy allows none.
func newMarkdown(options ...goldmark.Option) goldmark.Markdown {
	return goldmark.New(append([]goldmark.Option{
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough, extension.TaskList),
	}, options...)...)
}

// slugOf is the anchor of a heading, as GitHub makes it.
func slugOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, heading)
}

// A pair is what shows GitHub a picture in two themes. Here it is the light one, and every such
// picture brings its dark one along.
var pair = regexp.MustCompile(`<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="[^"]*-dark\.(?:png|svg)">\s*<img alt="([^"]*)" src="([^"]*-light\.(?:png|svg))">\s*</picture>`)

// parse reads a page's text, and collects its anchors.
func (s *site) parse(p *page) {
	p.source = pair.ReplaceAll(p.source, []byte("![$1]($2)"))
	p.tree = newMarkdown().Parser().Parse(text.NewReader(p.source))
	anchors := map[string]bool{}
	s.anchors[p.File] = anchors
	_ = ast.Walk(p.tree, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if !in {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			title := plain(n, p.source)
			id := slugOf(title)
			for i := 1; anchors[id]; i++ {
				id = fmt.Sprintf("%s-%d", slugOf(title), i)
			}
			anchors[id] = true
			n.SetAttributeString("id", []byte(id))
		case *ast.RawHTML:
			for _, m := range anchorTag.FindAllStringSubmatch(string(n.Segments.Value(p.source)), -1) {
				anchors[m[1]] = true
			}
		case *ast.HTMLBlock:
			for _, m := range anchorTag.FindAllStringSubmatch(string(n.Lines().Value(p.source)), -1) {
				anchors[m[1]] = true
			}
		}
		return ast.WalkContinue, nil
	})
}

// plain is the text of a node, without marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, in bool) (ast.WalkStatus, error) {
		if !in {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		}
		return ast.WalkContinue, nil
	})
	return unescaped(b.String())
}

// unescaped takes the backslashes away that keep a character from being a mark.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\`*_{}[]()#+-.!|<>~", s[i+1]) >= 0 {
			continue
		}
		b.WriteByte(s[i])
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`).Replace(b.String())
}

package main

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// render writes a page's text as HTML.
func (s *site) render(p *page) error {
	var b bytes.Buffer
	w := &writer{site: s, page: p}
	md := newMarkdown(goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(w, 100))))
	err := md.Renderer().Render(&b, p.source, p.tree)
	p.Body = bytes.ReplaceAll(b.Bytes(), []byte("<th></th>"), []byte("<td></td>")) // it is the head of nothing
	return err
}

// A writer writes what differs from plain HTML: headings with anchors, code, figures, tables that
// scroll, and the few tags that a text may have.
type writer struct {
	site    *site
	page    *page
	section string // the last heading
	figures int
}

// RegisterFuncs says which nodes are written here.
func (w *writer) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, w.heading)
	r.Register(ast.KindFencedCodeBlock, w.code)
	r.Register(ast.KindCodeBlock, w.code)
	r.Register(ast.KindRawHTML, w.raw)
	r.Register(ast.KindHTMLBlock, w.block)
	r.Register(ast.KindImage, w.image)
	r.Register(east.KindTable, w.table)
}

var verb = regexp.MustCompile(`^(GET|PUT|POST|DELETE) (/.*)$`)

func (w *writer) heading(out util.BufWriter, source []byte, node ast.Node, in bool) (ast.WalkStatus, error) {
	n := node.(*ast.Heading)
	if !in {
		_, _ = fmt.Fprintf(out, "</h%d>\n", n.Level) // a buffer keeps its error
		return ast.WalkContinue, nil
	}
	id, _ := n.AttributeString("id")
	title := plain(n, source)
	w.section = title
	_, _ = fmt.Fprintf(out, `<h%d id="%s">`, n.Level, html.EscapeString(string(id.([]byte))))
	if m := verb.FindStringSubmatch(title); m != nil {
		_, _ = fmt.Fprintf(out, `<span class="verb %s">%s</span> <code>%s</code>`, strings.ToLower(m[1]), m[1], html.EscapeString(m[2]))
		_, _ = fmt.Fprintf(out, "</h%d>\n", n.Level)
		return ast.WalkSkipChildren, nil
	}
	return ast.WalkContinue, nil
}

func (w *writer) code(out util.BufWriter, source []byte, node ast.Node, in bool) (ast.WalkStatus, error) {
	if !in {
		return ast.WalkContinue, nil
	}
	language := ""
	if f, ok := node.(*ast.FencedCodeBlock); ok {
		language = string(f.Language(source))
	}
	text := string(node.Lines().Value(source))
	if language == "mermaid" {
		w.figures++
		_, err := out.WriteString(w.site.figure(w.page, w.figures, w.section, text))
		return ast.WalkSkipChildren, err
	}
	_, err := out.WriteString(coloured(language, text))
	return ast.WalkSkipChildren, err
}

func (w *writer) table(out util.BufWriter, _ []byte, _ ast.Node, in bool) (ast.WalkStatus, error) {
	if in {
		_, _ = out.WriteString("<div class=scroll><table>\n")
	} else {
		_, _ = out.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// allowed are the tags that a text may have; comments are left out.
var (
	allowed = regexp.MustCompile(`^</?(a|br|kbd|sub|sup|details|summary|p)( (id|name|open)(="[^"<>]*")?)*\s*/?>$`)
	comment = regexp.MustCompile(`(?s)<!--.*?-->\n?`)
	anyTag  = regexp.MustCompile(`<[^>]*>`)
)

// checked returns HTML without comments. Other tags than those allowed are a fault.
func (w *writer) checked(text string) string {
	text = comment.ReplaceAllString(text, "")
	for _, tag := range anyTag.FindAllString(text, -1) {
		if !allowed.MatchString(tag) {
			w.site.fault(w.page.File, "has the tag %s: Markdown has a way for most", tag)
		}
	}
	return text
}

func (w *writer) raw(out util.BufWriter, source []byte, node ast.Node, in bool) (ast.WalkStatus, error) {
	if !in {
		return ast.WalkContinue, nil
	}
	_, err := out.WriteString(w.checked(string(node.(*ast.RawHTML).Segments.Value(source))))
	return ast.WalkSkipChildren, err
}

func (w *writer) block(out util.BufWriter, source []byte, node ast.Node, in bool) (ast.WalkStatus, error) {
	if !in {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.HTMLBlock)
	text := string(n.Lines().Value(source))
	if n.HasClosure() {
		text += string(n.ClosureLine.Value(source))
	}
	_, err := out.WriteString(w.checked(text))
	return ast.WalkContinue, err
}

func (w *writer) image(out util.BufWriter, source []byte, node ast.Node, in bool) (ast.WalkStatus, error) {
	if !in {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.Image)
	alt := html.EscapeString(plain(n, source))
	to := string(n.Destination)
	if dark := darkOf(to); dark != to && w.site.beside[strings.TrimPrefix(dark, "/docs/")] != nil {
		show := `<img class="picture light" src="%s" alt="%s" loading="lazy"><img class="picture dark" src="%s" alt="%s" loading="lazy">`
		if strings.HasSuffix(to, ".svg") {
			show = `<span class="terminal">` + show + `</span>`
		}
		_, _ = fmt.Fprintf(out, show, to, alt, dark, alt)
		return ast.WalkSkipChildren, nil
	}
	_, _ = fmt.Fprintf(out, `<img class="picture" src="%s" alt="%s" loading="lazy">`, html.EscapeString(to), alt)
	return ast.WalkSkipChildren, nil
}

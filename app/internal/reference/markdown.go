package reference

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// A page is Markdown that is being written.
type page struct{ b bytes.Buffer }

// newPage begins a page with its title, and with how it is made again.
func newPage(title string) *page {
	p := &page{}
	p.line("# %s\n", title)
	p.line("<!-- Written from the code: go test ./app/internal/cli -run TestReference -update -->\n")
	return p
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// bytes returns the page, which ends with one line feed.
func (p *page) bytes() []byte { return append(bytes.TrimSpace(p.b.Bytes()), '\n') }

// code writes a block.
func (p *page) code(language, text string) {
	p.line("```%s\n%s\n```\n", language, strings.Trim(text, "\n"))
}

// table writes rows below their heads. Nothing is written without rows.
func (p *page) table(heads []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	p.row(heads)
	p.line("|%s", strings.Repeat("---|", len(heads)))
	for _, r := range rows {
		p.row(r)
	}
	p.line("")
}

func (p *page) row(cells []string) {
	safe := make([]string, len(cells))
	for i, c := range cells {
		safe[i] = strings.ReplaceAll(strings.ReplaceAll(c, "\n", " "), "|", `\|`)
	}
	p.line("| %s |", strings.Join(safe, " | "))
}

// tick shows a text as it is typed. Nothing is shown of an empty one.
func tick(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

var (
	quotedCommand = regexp.MustCompile(`"(posthouse [^"]+)"`)
	pageName      = regexp.MustCompile(`\bdocs/([a-z-]+\.md)`)
	typed         = regexp.MustCompile("`[^`]*`|(^|[\\s(])(--[a-z][a-z-]*|POSTHOUSE_[A-Z_]+|/(?:api|openapi)[^\\s,;:)]*[^\\s,;:).]|[A-Z]+_[A-Z_]+)")
)

// prose is a text of the program as Markdown: nothing in it is taken for a mark, commands, flags and
// variables are shown as they are typed, and names of pages lead to them.
func prose(text string) string {
	text = quotedCommand.ReplaceAllString(text, "`$1`")
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			b.WriteString("`" + part + "`")
			continue
		}
		b.WriteString(escaper.Replace(part))
	}
	text = typed.ReplaceAllStringFunc(b.String(), func(m string) string {
		if strings.HasPrefix(m, "`") {
			return m
		}
		at := strings.IndexFunc(m, func(r rune) bool { return !strings.ContainsRune(" \t\n(", r) })
		return m[:at] + "`" + strings.ReplaceAll(m[at:], `\_`, "_") + "`"
	})
	return pageName.ReplaceAllString(text, "[docs/$1](../$1)")
}

var escaper = strings.NewReplacer("<", "&lt;", "*", `\*`, "[", `\[`, "]", `\]`)

// paragraph is [prose] of lines that help breaks at eighty columns.
func paragraph(text string) string { return prose(strings.Join(strings.Fields(text), " ")) }

// sentence begins a text with a capital and ends it with a period.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if first := text[0]; first >= 'a' && first <= 'z' {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	if strings.ContainsAny(text[len(text)-1:], ".:?!") {
		return text
	}
	return text + "."
}

// anchorOf is the anchor that GitHub and the documentation's pages give a heading.
func anchorOf(heading string) string {
	return strings.ReplaceAll(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r == ' ':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, heading), " ", "-")
}

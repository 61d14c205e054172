package main

import (
	"go/scanner"
	"go/token"
	"html"
	"regexp"
	"strings"
)

// coloured writes a block of code. Go and shells have a few colours, made here, so that the pages need no
// script for it.
func coloured(language, text string) string {
	text = strings.TrimSuffix(text, "\n")
	inner := html.EscapeString(text)
	switch language {
	case "go":
		inner = colouredGo(text)
	case "console", "sh":
		inner = colouredShell(text)
	}
	if language == "console" {
		return `<pre class="console"><code>` + inner + "</code></pre>\n"
	}
	return "<pre><code>" + inner + "</code></pre>\n"
}

func span(class, text string) string {
	return `<span class="` + class + `">` + html.EscapeString(text) + "</span>"
}

// colouredGo marks keywords, texts and comments. What is no Go stays as it is.
func colouredGo(text string) string {
	fset := token.NewFileSet()
	src := []byte(text)
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, func(token.Position, string) {}, scanner.ScanComments)
	var b strings.Builder
	done := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		class := ""
		switch {
		case tok == token.COMMENT:
			class = "c"
		case tok == token.STRING, tok == token.CHAR:
			class = "s"
		case tok.IsKeyword():
			class = "k"
		}
		at := file.Offset(pos)
		if class == "" || at < done || at+len(lit) > len(src) {
			continue
		}
		b.WriteString(html.EscapeString(text[done:at]))
		b.WriteString(span(class, lit))
		done = at + len(lit)
	}
	b.WriteString(html.EscapeString(text[done:]))
	return b.String()
}

var shellComment = regexp.MustCompile(`^(\s*|.*\s)(#.*)$`)

// colouredShell marks prompts and comments.
func colouredShell(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		prompt := ""
		if strings.HasPrefix(line, "$ ") {
			prompt, line = span("p", "$ "), line[2:]
		}
		if m := shellComment.FindStringSubmatch(line); m != nil && !strings.ContainsAny(m[1], `"'`) {
			lines[i] = prompt + html.EscapeString(m[1]) + span("c", m[2])
			continue
		}
		lines[i] = prompt + html.EscapeString(line)
	}
	return strings.Join(lines, "\n")
}

package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// contentsFile is the page with the contents.
const contentsFile = "docs/README.md"

// A section is one of the contents.
type section struct {
	Title, About string
	Pages        []*page
}

var (
	contentsLine = regexp.MustCompile(`^- \[([^\]]+)\]\(([^)#]+)\)(?:: (.+))?$`)
	titleOf      = regexp.MustCompile(`(?m)^# (.+)$`)
)

// readContents reads the sections, and the pages in them.
func (s *site) readContents() error {
	text, err := os.ReadFile(filepath.Join(s.root, contentsFile))
	if err != nil {
		return err
	}
	var now *section
	for i, line := range strings.Split(string(text), "\n") {
		switch m := contentsLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "## "):
			now = &section{Title: line[3:]}
			s.Sections = append(s.Sections, now)
		case strings.HasPrefix(line, "> "):
			s.About = line[2:]
		case m != nil && now == nil:
			return fmt.Errorf("%s:%d: a page before the first section", contentsFile, i+1)
		case m != nil:
			file := path.Join("docs", m[2])
			p := s.pages[file]
			if p == nil {
				return fmt.Errorf("%s:%d: there is no page %s", contentsFile, i+1, file)
			}
			if p.section != nil {
				return fmt.Errorf("%s:%d: %s is there twice", contentsFile, i+1, file)
			}
			p.section, p.Name, p.Summary = now, m[1], m[3]
			now.Pages = append(now.Pages, p)
			s.order = append(s.order, p)
		case strings.HasPrefix(line, "- "):
			return fmt.Errorf("%s:%d: write it as - [Title](page.md): what it is for", contentsFile, i+1)
		case now != nil && line != "" && now.About == "" && len(now.Pages) == 0:
			now.About = line
		}
	}
	for file, p := range s.pages {
		if p.section == nil && file != contentsFile {
			s.fault(file, "is in no section of %s", contentsFile)
		}
	}
	return nil
}

// addressOf returns where the server has a page.
func addressOf(file string) string {
	switch file {
	case contentsFile:
		return "/docs"
	case "README.md":
		return "/docs/about"
	case "docs/api.md":
		return "/docs/clients" // /docs/api tries the API
	case "SECURITY.md":
		return "/docs/security-policy"
	}
	name := strings.TrimSuffix(strings.TrimPrefix(file, "docs/"), ".md")
	return "/docs/" + strings.ToLower(name)
}

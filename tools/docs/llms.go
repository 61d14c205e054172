package main

import (
	"bytes"
	"fmt"
	"strings"
)

// llms is llms.txt (llmstxt.org): the contents for programs that read. The one of the server leads to its
// pages, and the one of the repository to its files.
func (s *site) llms(served bool) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Posthouse\n\n> %s\n", s.About)
	if served {
		b.WriteString("\n[All guides in one file](/llms-full.txt)\n")
	}
	for _, of := range s.Sections {
		fmt.Fprintf(&b, "\n## %s\n\n", of.Title)
		for _, p := range of.Pages {
			to := p.File
			if served {
				to = p.Address
			}
			fmt.Fprintf(&b, "- [%s](%s)", p.Name, to)
			if p.Summary != "" {
				fmt.Fprintf(&b, ": %s", strings.ReplaceAll(p.Summary, "`", ""))
			}
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// llmsFull is llms-full.txt: the Markdown of all guides, in the order of the contents. The references, which are made
// from the code, and the changelog are long, and only named.
func (s *site) llmsFull() []byte {
	var b bytes.Buffer
	var left []string
	for _, p := range s.order {
		if strings.HasPrefix(p.File, "docs/reference/") || p.File == "CHANGELOG.md" {
			left = append(left, fmt.Sprintf("- %s: %s", p.Name, p.Address))
			continue
		}
		fmt.Fprintf(&b, "\n---\n\nPage: %s, file: %s\n\n%s\n", p.Address, p.File, bytes.TrimSpace(p.source))
	}
	head := fmt.Sprintf("# Posthouse\n\n> %s\n\nAll guides in one file. Links in them are those of the files. These pages are not in it:\n\n%s\n", s.About, strings.Join(left, "\n"))
	return append([]byte(head), b.Bytes()...)
}

// fullName is the file that has llms-full.txt, compressed. It is no part of the archive: beside the pages, which say
// the same in HTML, it would take 71 KB of the archive's 600.
const fullName = "llms-full.txt.zst"

// maxFull is the most that the binary may have of it, in bytes.
const maxFull = 250 << 10

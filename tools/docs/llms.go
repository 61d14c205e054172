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

package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
)

// An index is what the script of the pages searches: pages, the sections in them, and in which of
// these each word is.
type index struct {
	Pages    [][3]string `json:"pages"`    // name, address, section of the contents
	Sections [][]any     `json:"sections"` // page, anchor, heading, how it begins
	Words    string      `json:"words"`    // a line each: the word and its sections, as differences in base 36
}

// excerpt is how much of a section is shown, in bytes at most.
const excerpt = 110

// An indexer collects the words of pages.
type indexer struct {
	index
	words map[string][]int // sections
}

// searchIndex returns the index of all pages.
func (s *site) searchIndex() ([]byte, error) {
	x := indexer{words: map[string][]int{}}
	for _, p := range s.order {
		x.page(p)
	}
	var b strings.Builder
	for _, w := range slices.Sorted(maps.Keys(x.words)) {
		b.WriteString(w)
		last := 0
		for _, n := range x.words[w] {
			b.WriteByte(' ')
			b.WriteString(strconv.FormatInt(int64(n-last), 36))
			last = n
		}
		b.WriteByte('\n')
	}
	x.Words = b.String()
	return json.Marshal(x.index)
}

// page adds a page: a section begins at each heading.
func (x *indexer) page(p *page) {
	x.Pages = append(x.Pages, [3]string{p.Name, p.Address, p.section.Title})
	x.begin("", p.Title)
	brief := p.section.Title == "Reference" // members and flags say by themselves what they are
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			title := plain(n, p.source)
			if n.Level > 1 {
				id, _ := n.AttributeString("id")
				x.begin(string(id.([]byte)), title)
			}
			x.add(title)
		case *ast.FencedCodeBlock:
			switch string(n.Language(p.source)) {
			case "go", "sh":
				x.add(string(n.Lines().Value(p.source)))
			case "console": // what commands print is found by what the text says of it
				for line := range strings.Lines(string(n.Lines().Value(p.source))) {
					if command, ok := strings.CutPrefix(line, "$ "); ok {
						x.add(command)
					}
				}
			}
		case *ast.Paragraph:
			text := plain(n, p.source)
			x.add(text)
			if last := x.Sections[len(x.Sections)-1]; last[3] == "" && !brief {
				last[3] = cut(text)
			}
		case *east.Table:
			for row := n.FirstChild(); row != nil; row = row.NextSibling() {
				for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
					x.add(plain(cell, p.source))
				}
			}
		default:
			if n.Kind() != ast.KindHTMLBlock && n.Kind() != ast.KindCodeBlock {
				for _, t := range texts(n, p.source) {
					x.add(t)
				}
			}
		}
	}
}

// texts are the texts of the blocks in a node, as of a list.
func texts(n ast.Node, source []byte) (all []string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c.Type() == ast.TypeInline {
			return append(all, plain(n, source))
		}
		all = append(all, texts(c, source)...)
	}
	return all
}

func (x *indexer) begin(anchor, title string) {
	x.Sections = append(x.Sections, []any{len(x.Pages) - 1, anchor, title, ""})
}

// add adds the words of a text to the last section.
func (x *indexer) add(text string) {
	now := len(x.Sections) - 1
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		w = strings.Trim(w, "_")
		if len(w) < 2 || len(w) > 40 || slices.Contains(common, w) || strings.IndexFunc(w, unicode.IsDigit) >= 0 && (len(w) > 8 || unicode.IsDigit(rune(w[0]))) {
			continue
		}
		if of := x.words[w]; len(of) == 0 || of[len(of)-1] != now {
			x.words[w] = append(of, now)
		}
	}
}

// common are words that nothing is found by.
var common = strings.Fields("a an and any are as at be been but by can do does for from has have if in into is it its no not of on one only or out so than that the their them then there they this those to was what when where which who will with")

// cut is the beginning of a text, to the end of a word.
func cut(text string) string {
	if len(text) <= excerpt {
		return text
	}
	return text[:strings.LastIndexByte(text[:excerpt], ' ')] + " …"
}

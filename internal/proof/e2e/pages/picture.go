package pages

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A Picture is what a terminal shows, to be drawn as SVG. Its text is text there: it can be read out,
// searched and copied.
type Picture struct {
	Title   string // what it shows, in a line
	Columns int    // how wide the terminal is; longer lines go on in the next
	Text    string // with the codes of colours
}

// A Theme is the colours of a picture.
type Theme struct {
	Name                           string // light or dark
	ground, text, quiet, good, bad string
}

// Themes are those that a picture is drawn in.
func Themes() []Theme {
	return []Theme{
		{"light", "#f4f6f8", "#1d2329", "#59626c", "#176f30", "#b91c26"},
		{"dark", "#14181d", "#e4e9ee", "#9aa4af", "#5ccb77", "#ff8078"},
	}
}

// The measures of a picture, in pixels.
const (
	fontSize  = 13
	cell      = 7.8 // a column: 0.6 of the font's size, as fixed-width fonts have it
	rowHeight = 19
	margin    = 16
)

// A span is text in one colour.
type span struct {
	column int
	class  string
	text   string
}

var colour = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// classes are the colours that commands use, by their codes.
var classes = map[string]string{"": "", "0": "", "1": "b", "2": "q", "31": "r", "32": "g"}

// rows breaks the text into the lines of the terminal.
func (p *Picture) rows() (rows [][]span, err error) {
	class := ""
	for line := range strings.SplitSeq(strings.TrimSuffix(strings.ReplaceAll(p.Text, "\r\n", "\n"), "\n"), "\n") {
		var row []span
		column := 0
		for line != "" {
			if m := colour.FindStringSubmatchIndex(line); m != nil && m[0] == 0 {
				c, known := classes[line[m[2]:m[3]]]
				if !known {
					return nil, fmt.Errorf("a picture has no colour for the code %q", line[m[2]:m[3]])
				}
				class, line = c, line[m[1]:]
				continue
			}
			r, n := utf8.DecodeRuneInString(line)
			if r < ' ' {
				return nil, fmt.Errorf("a picture cannot show %q", r)
			}
			if column == p.Columns {
				rows, row, column = append(rows, row), nil, 0
			}
			// Signs that other fonts may have in another width stand by themselves.
			if last := len(row) - 1; last >= 0 && row[last].class == class && r < utf8.RuneSelf && row[last].text[0] < utf8.RuneSelf {
				row[last].text += string(r)
			} else {
				row = append(row, span{column, class, string(r)})
			}
			column++
			line = line[n:]
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// SVG draws the picture in a theme. It fails for text that a terminal shows in another way than in
// lines.
func (p *Picture) SVG(t Theme) (string, error) {
	rows, err := p.rows()
	if err != nil {
		return "", err
	}
	width, height := int(float64(p.Columns)*cell)+2*margin, len(rows)*rowHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">
<title id="title">%s</title>
<style>text{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:%s;white-space:pre}.b{font-weight:700}.q{fill:%s}.g{fill:%s}.r{fill:%s}</style>
<rect width="%d" height="%d" rx="8" fill="%s"/>
`, width, height, width, height, html.EscapeString(p.Title), fontSize, t.text, t.quiet, t.good, t.bad, width, height, t.ground)
	for i, row := range rows {
		if len(row) == 0 {
			continue
		}
		fmt.Fprintf(&b, `<text y="%d">`, margin+i*rowHeight+fontSize)
		for _, s := range row {
			if strings.TrimSpace(s.text) == "" {
				s.class = ""
			}
			fmt.Fprintf(&b, `<tspan x="%.4g"`, margin+float64(s.column)*cell)
			if n := utf8.RuneCountInString(s.text); n > 1 {
				fmt.Fprintf(&b, ` textLength="%.4g"`, float64(n)*cell)
			}
			if s.class != "" {
				fmt.Fprintf(&b, ` class="%s"`, s.class)
			}
			fmt.Fprintf(&b, `>%s</tspan>`, html.EscapeString(s.text))
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

var (
	drawnIn  = regexp.MustCompile(`viewBox="0 0 (\d+)`)
	drawnRow = regexp.MustCompile(`<text y="(\d+)">(.*)</text>`)
	tag      = regexp.MustCompile(`<[^>]*>`)
)

// TextOf returns the lines of a picture that was drawn, without colours. A line that the terminal broke
// is whole again.
func TextOf(svg string) string {
	var b strings.Builder
	width, at, broken := 0, 0, false
	if m := drawnIn.FindStringSubmatch(svg); m != nil {
		_, _ = fmt.Sscan(m[1], &width) // the expression has digits there
	}
	for _, m := range drawnRow.FindAllStringSubmatch(svg, -1) {
		y := 0
		_, _ = fmt.Sscan(m[1], &y)
		for row := (y - margin - fontSize) / rowHeight; at < row; at++ {
			if !broken {
				b.WriteByte('\n')
			}
			broken = false
		}
		text := html.UnescapeString(tag.ReplaceAllString(m[2], ""))
		broken = float64(utf8.RuneCountInString(text)) > (float64(width)-2*margin)/cell-1
		b.WriteString(text)
	}
	b.WriteByte('\n')
	return b.String()
}

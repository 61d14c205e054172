package pages_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/e2e/pages"
	"github.com/posthouse/posthouse/internal/proof/must"
)

// TestPictureSaysWhatTheTerminalDoes: a picture is XML, has the text of the terminal, with its lines broken
// where the terminal breaks them, and colours where the codes are.
func TestPictureSaysWhatTheTerminalDoes(t *testing.T) {
	p := pages.Picture{Title: "a <title> & more", Columns: 10, Text: "$ a <b> & \"c\"\r\n\n\x1b[32m✓ ok\x1b[0m  x\n\x1b[1mten colum\x1b[0mns\n"}
	for _, theme := range pages.Themes() {
		svg := must.Get(p.SVG(theme))(t)
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("it is no XML: %v\n%s", err, svg)
			}
		}
		if have, want := pages.TextOf(svg), "$ a <b> & \"c\"\n\n✓ ok  x\nten columns\n"; have != want {
			t.Errorf("it says\n%s\nwant\n%s", have, want)
		}
		for _, want := range []string{`<title id="title">a &lt;title&gt; &amp; more</title>`, `class="g">✓</tspan>`, ` class="g"> ok</tspan>`, ` class="b">ten colum</tspan>`, `height="146"`} {
			if !strings.Contains(svg, want) {
				t.Errorf("it has no %s:\n%s", want, svg)
			}
		}
	}
	for _, text := range []string{"a\x1b[35mb", "a\tb", "a\x1b[2Jb", "50 %\r100 %"} {
		if _, err := (&pages.Picture{Columns: 10, Text: text}).SVG(pages.Themes()[0]); err == nil {
			t.Errorf("%q is drawn", text)
		}
	}
}

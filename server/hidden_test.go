package server

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/posthouse/posthouse/internal/base/text"
	"github.com/posthouse/posthouse/internal/proof/must"
	"github.com/posthouse/posthouse/ui"
)

// hiddenRanges lists the hidden characters as the pages' script has them.
func hiddenRanges() string {
	var lines []string
	line, from := "", rune(-1)
	for r := rune(0); r <= unicode.MaxRune+1; r++ {
		switch hidden := r <= unicode.MaxRune && text.Hidden(r); {
		case hidden && from < 0:
			from = r
		case !hidden && from >= 0:
			if line += fmt.Sprintf("[0x%x, 0x%x], ", from, r-1); len(line) > 80 {
				lines, line = append(lines, strings.TrimSpace(line)), ""
			}
			from = -1
		}
	}
	return "const hiddenRanges = [\n  " + strings.Join(append(lines, strings.TrimSpace(line)), "\n  ") + "\n];\n"
}

// TestPageHidesTheSameCharacters: the page has the list of package text, so that page and
// terminal mark the same characters.
func TestPageHidesTheSameCharacters(t *testing.T) {
	script, err := ui.Files.ReadFile("hidden.js")
	must.Do(t, err)
	if want := hiddenRanges(); !strings.Contains(string(script), want) {
		t.Errorf("ui/hidden.js has another list than internal/base/text; it must have\n%s", want)
	}
	source, err := os.ReadFile("../ui/web/src/text/hidden.ts")
	must.Do(t, err)
	spaces := regexp.MustCompile(`[\s,\[\]]+`)
	list := func(of string) string {
		_, of, _ = strings.Cut(of, "= [")
		of, _, _ = strings.Cut(of, "];")
		return spaces.ReplaceAllString(of, " ")
	}
	if list(string(source)) != list(hiddenRanges()) {
		t.Errorf("ui/web/src/text/hidden.ts has another list than internal/base/text")
	}
	drawn := func(of string) string {
		_, of, _ = strings.Cut(of, "// What stands before and behind a joiner")
		of, _, _ = strings.Cut(of, `"gu",`)
		return regexp.MustCompile(`\s+`).ReplaceAllString(of, " ")
	}
	if have := drawn(string(script)); have == "" || have != drawn(string(source)) {
		t.Errorf("ui/hidden.js and ui/web/src/text/hidden.ts take other characters for text")
	}
}

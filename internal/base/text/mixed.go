package text

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Letters that are drawn as Latin ones. Of Greek only some are, since units are written with others. The lists are
// those of ui/web/src/text/hidden.ts; a test compares them, and both read testdata/shown.json.
const (
	greekLetters = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορυχϲϳϹ"
	alikeLetters = "АВЕЅІЈКМНОРСТУХЬаеѕіјорсухԁһӏԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"
)

const latin = "Latin"

// scriptOf returns the name of the script of a letter that can stand for a Latin one, else "".
func scriptOf(r rune) string {
	switch {
	case !isOther(r):
		return ""
	case unicode.Is(unicode.Cyrillic, r):
		return "Cyrillic"
	case strings.ContainsRune(greekLetters, r):
		return "Greek"
	case unicode.Is(unicode.Armenian, r):
		return "Armenian"
	case unicode.Is(unicode.Cherokee, r):
		return "Cherokee"
	case unicode.Is(unicode.Coptic, r):
		return "Coptic"
	case unicode.Is(unicode.Lisu, r):
		return "Lisu"
	}
	return ""
}

// isOther is a quick look at where the letters of those scripts are.
func isOther(r rune) bool {
	switch {
	case r < 0x370:
		return false
	case r <= 0x58f, r >= 0x13a0 && r <= 0x13ff, r >= 0x1c80 && r <= 0x1c8f, r == 0x1d2b, r == 0x1d78,
		r >= 0x2c80 && r <= 0x2dff, r >= 0xa4d0 && r <= 0xa4ff, r >= 0xa640 && r <= 0xa69f, r >= 0xab70 && r <= 0xabbf:
		return true
	}
	return false
}

func isLatin(r rune) bool { return unicode.Is(unicode.Latin, r) }
func inWord(r rune) bool  { return unicode.In(r, unicode.L, unicode.M, unicode.N) }

// isSpace is what browsers take for a space.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff:
		return true
	}
	return r >= 0x2000 && r <= 0x200a
}

// MixedMark is what is shown in place of a letter of another script than its word's, as in ‹Cyrillic А›.
func MixedMark(r rune, script string) string { return "‹" + script + " " + string(r) + "›" }

// A piece is a character of a text as it stands there, or what stands for one: a mark, or an escape of JSON.
type piece struct {
	text   string
	letter rune
	stands bool // it stands for the letter, so it is left as it is
}

// markPattern matches the marks of this package, which stay as they are: a line of a terminal is made visible again
// when it is put together.
var markPattern = regexp.MustCompile(`^‹(?:U\+([0-9A-F]{4,6})|[0-9,]+ (spaces|empty lines)|(\pL+) ([\pL\pM\pN]))›`)

// standing returns the mark that a text begins with, or nil.
func standing(s string) *piece {
	m := markPattern.FindStringSubmatch(s)
	switch {
	case m == nil:
		return nil
	case m[1] != "":
		code, err := strconv.ParseInt(m[1], 16, 32)
		if err != nil {
			return nil
		}
		return &piece{m[0], rune(code), true}
	case m[2] == "spaces":
		return &piece{m[0], ' ', true}
	case m[2] != "":
		return &piece{m[0], '\n', true}
	}
	r, _ := utf8.DecodeRuneInString(m[4])
	if m[3] == scriptOf(r) || m[3] == latin && isLatin(r) {
		return &piece{m[0], r, true}
	}
	return nil
}

// piecesOf reads a text, which may be JSON: an escape stands for its character.
func piecesOf(s string) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		for s != "" {
			r, n := utf8.DecodeRuneInString(s)
			p := &piece{s[:n], r, false}
			var stands *piece
			switch r {
			case '‹':
				stands = standing(s)
			case '\\':
				stands = escapeAt(s)
			}
			if stands != nil {
				p = stands
			}
			s = s[len(p.text):]
			if !yield(*p) {
				return
			}
		}
	}
}

// escapeAt returns the escape of JSON that a text begins with, or nil.
func escapeAt(s string) *piece {
	if len(s) < 2 {
		return nil
	}
	switch at := strings.IndexByte(`bfnrt"\/`, s[1]); {
	case at >= 0:
		return &piece{s[:2], rune("\b\f\n\r\t\"\\/"[at]), true}
	case s[1] != 'u' || len(s) < 6:
		return nil
	}
	code, err := strconv.ParseUint(s[2:6], 16, 16)
	if err != nil {
		return nil
	}
	return &piece{s[:6], rune(code), true}
}

// replaceMixed replaces letters of another script than their word's. Spaces and quotation marks end what is looked at
// together. Of a word with Latin and Cyrillic letters it
// replaces those of which there are fewer. A part of an id, as in INV-1О14, counts with the rest if it has only letters
// that are drawn alike. Words of one script stay as they are, whatever stands beside them.
func replaceMixed(pieces iter.Seq[piece], by func(r rune, script string) string) string {
	var b strings.Builder
	var run []piece
	for p := range pieces {
		if p.letter != '"' && !isSpace(p.letter) {
			run = append(run, p)
			continue
		}
		writeRun(&b, run, by)
		run = run[:0]
		b.WriteString(p.text)
	}
	writeRun(&b, run, by)
	return b.String()
}

// writeRun writes what stands between two spaces or quotation marks.
func writeRun(b *strings.Builder, run []piece, by func(rune, string) string) {
	other := slices.ContainsFunc(run, func(p piece) bool { return isOther(p.letter) })
	own := slices.ContainsFunc(run, func(p piece) bool { return isLatin(p.letter) })
	for len(run) > 0 {
		n := 0
		for n < len(run) && inWord(run[n].letter) {
			n++
		}
		if n > 0 && other && own {
			writeWord(b, run[:n], by)
		} else {
			n = max(n, 1)
			for _, p := range run[:n] {
				b.WriteString(p.text)
			}
		}
		run = run[n:]
	}
}

// writeWord writes a word that stands in one run with letters of more than one script.
func writeWord(b *strings.Builder, word []piece, by func(rune, string) string) {
	own, foreign, alike := 0, 0, true
	for _, p := range word {
		switch {
		case isLatin(p.letter):
			own++
		case scriptOf(p.letter) != "":
			foreign++
		}
		alike = alike && (!unicode.IsLetter(p.letter) || strings.ContainsRune(alikeLetters, p.letter))
	}
	for _, p := range word {
		script := scriptOf(p.letter)
		switch {
		case own == 0 && !alike:
			script = ""
		case own > 0 && own < foreign && isLatin(p.letter):
			script = latin
		case own > 0 && own < foreign:
			script = ""
		}
		if script == "" || p.stands {
			b.WriteString(p.text)
		} else {
			b.WriteString(by(p.letter, script))
		}
	}
}

// hasOther reports whether a text has a letter of those scripts.
func hasOther(s string) bool { return strings.IndexFunc(s, isOther) >= 0 }

// EscapeMixed returns JSON that says the same, with escapes in place of letters of another script than their word's.
func EscapeMixed(data []byte) []byte {
	s := string(data)
	if !hasOther(s) {
		return data
	}
	return []byte(replaceMixed(piecesOf(s), func(r rune, _ string) string {
		escape := ""
		for _, u := range utf16.Encode([]rune{r}) {
			escape += `\u` + strconv.FormatUint(0x10000|uint64(u), 16)[1:]
		}
		return escape
	}))
}

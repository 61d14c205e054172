package text

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Lines that show nothing push what follows them off the screen, and so do spaces that wrap.
const blank = "[\\t \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"

var (
	emptyLines = regexp.MustCompile(`\n(?:(?:` + blank + `|‹U\+[0-9A-F]+›)*\n){4,}`)
	manySpaces = regexp.MustCompile(blank + `{100,}`)
)

// shortened returns a text without hidden characters with counts in place of what shows nothing. It tells note each
// of them.
func shortened(s string, note func(mark string)) string {
	if strings.Count(s, "\n") > 4 {
		s = emptyLines.ReplaceAllStringFunc(s, func(run string) string {
			mark := "‹" + grouped(strings.Count(run, "\n")-1) + " empty lines›"
			note(mark)
			return "\n" + mark + "\n"
		})
	}
	if len(s) < 100 {
		return s
	}
	return manySpaces.ReplaceAllStringFunc(s, func(run string) string {
		mark := "‹" + grouped(len([]rune(run))) + " spaces›"
		note(mark)
		return mark
	})
}

// grouped returns a number with a comma between thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Marks are those of texts, each once, by what they stand for. The zero value is empty.
type Marks struct {
	Unseen []string // characters that are not seen, or reorder what is
	Mixed  []string // letters of another script than their word's
	Long   []string // lines and spaces that show nothing
}

// Add adds the marks of texts.
func (m *Marks) Add(texts ...string) {
	for _, s := range texts {
		if hasOther(s) {
			replaceMixed(piecesOf(s), func(r rune, script string) string {
				m.Mixed = withMark(m.Mixed, MixedMark(r, script))
				return ""
			})
		}
		for _, mark := range HiddenIn(s) {
			m.Unseen = withMark(m.Unseen, mark)
		}
		shortened(Typeable(s), func(mark string) { m.Long = withMark(m.Long, mark) })
	}
}

// AddJSON adds the marks of the strings and names of a JSON value, however they are escaped there. Of what is not JSON
// it adds those of the text.
func (m *Marks) AddJSON(data []byte) { m.Add(stringsOf(data)...) }

func withMark(marks []string, mark string) []string {
	if slices.Contains(marks, mark) {
		return marks
	}
	return append(marks, mark)
}

// maxMarks is how many marks of a kind a warning names.
const maxMarks = 8

func first(marks []string) string {
	if n := len(marks) - maxMarks; n > 0 {
		return strings.Join(marks[:maxMarks], " ") + " and " + grouped(n) + " others"
	}
	return strings.Join(marks, " ")
}

// Warning says what people do not see, or take for something else; "" without any mark. It begins with a small
// letter, and has no full stop.
func (m *Marks) Warning() string {
	var says []string
	if len(m.Unseen) > 0 {
		says = append(says, "characters that are not seen stand here: "+first(m.Unseen))
	}
	if len(m.Mixed) > 0 {
		says = append(says, "letters of another script stand inside of words: "+first(m.Mixed))
	}
	if len(says) > 0 {
		says = append(says, "they can make one text look like another")
	}
	if len(m.Long) > 0 {
		says = append(says, "text goes on after what shows nothing: "+first(m.Long))
	}
	return strings.Join(says, "; ")
}

// stringsOf returns the strings and names of a JSON value, or the text of what is not JSON.
func stringsOf(data []byte) (all []string) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	for {
		t, err := d.Token()
		if err != nil {
			if len(data) > 0 && !json.Valid(data) {
				return []string{string(data)}
			}
			return all
		}
		if s, ok := t.(string); ok {
			all = append(all, s)
		}
	}
}

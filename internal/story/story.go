package story

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/posthouse/posthouse"
)

// Told returns how long an execution took and its attempts, as headers hold them: nothing for a first
// attempt that took less than a millisecond and has no notes.
func Told(s *posthouse.Story) (took time.Duration, attempts int) {
	took = max(0, s.Took.Truncate(time.Millisecond))
	if took == 0 && s.Attempts <= 1 && s.Error == "" && len(s.Notes) == 0 {
		return 0, 0
	}
	return took, max(0, s.Attempts)
}

// Encode checks a story and returns the body of its record: nil without an error and notes. Errors are
// those of [EncodeNote], and [posthouse.ErrTooLarge] for more than [posthouse.MaxNotes] notes or more
// than [posthouse.MaxNotesSize] bytes of them.
func Encode(s *posthouse.Story) ([]byte, error) {
	if s.Error == "" && len(s.Notes) == 0 {
		return nil, nil
	}
	told := posthouse.Story{Error: cut(s.Error)}
	var b Notebook
	for i := range s.Notes {
		if err := b.Add(&s.Notes[i]); err != nil {
			return nil, err
		}
	}
	told.Notes = b.Take()
	return plainJSON(&told)
}

// cut returns valid UTF-8 of at most MaxText bytes.
func cut(s string) string {
	if len(s) > posthouse.MaxText {
		s = s[:posthouse.MaxText]
	}
	return strings.ToValidUTF8(s, "")
}

// Read adds the error and the notes of a record's body to a story. [posthouse.ErrCorrupt] if the body
// does not decode.
func Read(e *posthouse.Entry, body []byte, s *posthouse.Story) error {
	var told posthouse.Story
	if err := json.Unmarshal(body, &told); err != nil {
		return posthouse.Corrupt("a note at entry %d of thread %q does not decode: %v", e.Seq, e.Thread, err)
	}
	s.Error, s.Notes = told.Error, told.Notes
	return nil
}

// Line returns the newest line of notes, "" for notes without a line.
func Line(notes []posthouse.Note) string {
	for _, n := range slices.Backward(notes) {
		if n.Line != "" {
			return n.Line
		}
	}
	return ""
}

// EncodeNote returns a note with its input and values as JSON, and its size on record.
// [posthouse.ErrInvalid] for text that is not UTF-8, a value that JSON cannot hold, a negative number
// of tokens and an empty note, [posthouse.ErrTooLarge] for a field over its limit and a note over
// [posthouse.MaxNotesSize]. They name the field.
func EncodeNote(n *posthouse.Note) (*posthouse.Note, int, error) {
	if err := checkTexts(n); err != nil {
		return nil, 0, err
	}
	e, err := *n, error(nil)
	if n.Input != nil {
		e.Input, err = encode("input", n.Input)
		if err != nil {
			return nil, 0, err
		}
	}
	e.Values = nil
	for name, v := range n.Values {
		if name == "" || len(name) > posthouse.MaxID || !utf8.ValidString(name) {
			return nil, 0, posthouse.Invalid("values", "of a note: name %.40q must be 1 to %d bytes of UTF-8", name, posthouse.MaxID)
		}
		if e.Values == nil {
			e.Values = make(map[string]any, len(n.Values))
		}
		e.Values[name], err = encode("values."+name, v)
		if err != nil {
			return nil, 0, err
		}
	}
	b, err := plainJSON(&e)
	switch {
	case err != nil:
		return nil, 0, err
	case len(b) == len("{}"):
		return nil, 0, posthouse.Invalid("note", "is empty: give it a line, a model, an input, tokens, a cost or values")
	case len(b) > posthouse.MaxNotesSize:
		return nil, 0, posthouse.TooLarge("note", len(b), posthouse.MaxNotesSize)
	}
	return &e, len(b), nil
}

func checkTexts(n *posthouse.Note) error {
	for _, f := range []struct {
		name, text string
		limit      int
	}{{"line", n.Line, posthouse.MaxLine}, {"model", n.Model, posthouse.MaxID}, {"cost", n.Cost, posthouse.MaxID}} {
		switch {
		case len(f.text) > f.limit:
			return posthouse.TooLarge(f.name, len(f.text), f.limit)
		case !utf8.ValidString(f.text):
			return posthouse.Invalid(f.name, "of a note is not valid UTF-8")
		}
	}
	if n.InputTokens < 0 || n.OutputTokens < 0 {
		return posthouse.Invalid("tokens", "of a note are negative")
	}
	return nil
}

// encode encodes one value of a note.
func encode(field string, v any) (json.RawMessage, error) {
	b, err := posthouse.JSON.Marshal(v)
	if err != nil {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "of a note cannot be encoded as JSON", Err: err}
	}
	return b, nil
}

// plainJSON encodes JSON without escapes for HTML.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

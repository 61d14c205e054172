package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	xterm "golang.org/x/term"
)

// A Term is where a command writes to and whom it may ask.
type Term struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	Format      Format // of answers
	Columns     int    // how wide Out is; 0 is no terminal, where nothing is shortened
	Color       bool   // Out shows colours
	Interactive bool   // In and Err are a person at a terminal
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return f != nil && xterm.IsTerminal(int(f.Fd())) }

// ColumnsOf returns how wide a terminal is, and 0 for what is no terminal or does not say.
func ColumnsOf(f *os.File) int {
	if !IsTerminal(f) {
		return 0
	}
	width, _, err := xterm.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Line prints one line. The arguments are stripped, the format is not.
func (t *Term) Line(format string, args ...any) { fmt.Fprintf(t.Out, format+"\n", stripped(args)...) }

// Note prints one line to Err, for what is not the answer: progress and hints.
func (t *Term) Note(format string, args ...any) { fmt.Fprintf(t.Err, format+"\n", stripped(args)...) }

func stripped(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case int, int64, uint64, uint32, float64, bool:
			out[i] = a
		case safe:
			out[i] = string(a)
		default:
			out[i] = Visible(fmt.Sprint(a))
		}
	}
	return out
}

// safe is text of our own that holds colour codes.
type safe string

// The colours, by what they say.
const (
	Good  = "32" // green
	Bad   = "31" // red
	Quiet = "2"  // dim
	Loud  = "1"  // bold
)

// Paint returns s, stripped, in a colour if the terminal shows them.
func (t *Term) Paint(color, s string) any {
	s = Visible(s)
	if t.Color && s != "" {
		s = "\x1b[" + color + "m" + s + "\x1b[0m"
	}
	return safe(s)
}

// Indented prints a JSON document that is there already, indented, with nothing hidden
// in it. Anything but JSON is printed as a line.
func (t *Term) Indented(raw json.RawMessage) {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		t.Line("%s", string(raw))
		return
	}
	fmt.Fprintf(t.Out, "%s\n", visibleJSON(b.Bytes()))
}

// Fields prints name and value pairs, the values aligned.
func (t *Term) Fields(pairs ...string) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, len(pairs[i]))
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(t.Out, "%-*s  %s\n", width, pairs[i], Visible(pairs[i+1]))
		}
	}
}

// Confirm asks a person before what cannot be undone. It returns true if yes is set or
// there is no terminal, as in a script.
func (t *Term) Confirm(yes bool, format string, args ...any) (bool, error) {
	if yes || !t.Interactive {
		return true, nil
	}
	fmt.Fprintf(t.Err, format+" [y/N] ", stripped(args)...)
	answer, err := t.readLine()
	if err != nil {
		return false, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// Choose asks a person for one of the first n numbers. 0 is no choice.
func (t *Term) Choose(n int, format string, args ...any) (int, error) {
	fmt.Fprintf(t.Err, format+" [1-%d] ", append(stripped(args), n)...)
	answer, err := t.readLine()
	if err != nil {
		return 0, err
	}
	chosen, err := strconv.Atoi(answer)
	if err != nil || chosen < 1 || chosen > n {
		return 0, nil // no number is no choice
	}
	return chosen, nil
}

// maxAnswer is the longest line that a person types, in bytes.
const maxAnswer = 1000

// readLine reads a line and no byte after it, which the next question gets.
func (t *Term) readLine() (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < maxAnswer; {
		n, err := t.In.Read(b)
		if n > 0 && b[0] == '\n' || err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
		line = append(line, b[:n]...)
	}
	return strings.TrimSpace(string(line)), nil
}

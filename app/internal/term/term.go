package term

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// A Term is where a command writes to and whom it may ask.
type Term struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	JSON        bool // answers are JSON
	Color       bool // Out shows colours
	Interactive bool // In and Err are a person at a terminal
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	if f == nil {
		return false
	}
	fi, err := f.Stat()
	if err != nil || fi.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(fi, null)
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

// Encode prints v as indented JSON.
func (t *Term) Encode(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = t.Out.Write(append(EscapeJSON(data), '\n'))
	return err
}

// Indented prints a JSON document that is there already, indented, with nothing hidden
// in it. Anything but JSON is printed as a line.
func (t *Term) Indented(raw json.RawMessage) {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		t.Line("%s", string(raw))
		return
	}
	fmt.Fprintf(t.Out, "%s\n", EscapeJSON(b.Bytes()))
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

// Table prints rows under headings, columns aligned, cells on one line each.
// The last column is not padded. Without rows it prints nothing.
func (t *Term) Table(head []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	width := make([]int, len(head))
	for i, h := range head {
		width[i] = Width(h)
	}
	for _, row := range rows {
		for i := range row {
			row[i] = Visible(row[i])
			width[i] = max(width[i], Width(row[i]))
		}
	}
	line := func(cells []string) string {
		var b strings.Builder
		for i, c := range cells {
			b.WriteString(c)
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-Width(c)+2))
			}
		}
		return strings.TrimRight(b.String(), " ")
	}
	h := line(head)
	if t.Color {
		h = "\x1b[" + Quiet + "m" + h + "\x1b[0m"
	}
	fmt.Fprintln(t.Out, h)
	for _, row := range rows {
		fmt.Fprintln(t.Out, line(row))
	}
}

// Confirm asks a person before what cannot be undone. It returns true if yes is set or
// there is no terminal, as in a script.
func (t *Term) Confirm(yes bool, format string, args ...any) (bool, error) {
	if yes || !t.Interactive {
		return true, nil
	}
	fmt.Fprintf(t.Err, format+" [y/N] ", stripped(args)...)
	answer, err := bufio.NewReader(t.In).ReadString('\n')
	if err != nil && err != io.EOF {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

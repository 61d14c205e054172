// Package record keeps files of JSON lines that say what long tests found, and quotes
// tables of them in pages.
//
//	err := record.Append("docs/record/durability.jsonl", line)
//	lines, err := record.Read[Line]("docs/record/durability.jsonl")
//	err = record.Quote("docs/guarantees/records.md", "docs/record/durability.jsonl", table(lines))
//
// [Commit] names what was tried, where that can be found again.
package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Append adds a line to a record.
func Append(path string, line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(text, '\n'))
	return err
}

// Read reads a record. A record that is not there is empty.
func Read[L any](path string) ([]L, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []L
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var l L
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(all)+1, err)
		}
		all = append(all, l)
	}
	return all, lines.Err()
}

// Grouped writes a number with commas.
func Grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// place returns the parts of a page before, between and after the marks of a record.
func place(page, of string) (before, between, after string, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return "", "", "", err
	}
	from, to := "<!-- sums of "+of+" -->\n", "<!-- end of sums -->\n"
	before, rest, ok := strings.Cut(string(text), from)
	between, after, end := strings.Cut(rest, to)
	if !ok || !end {
		return "", "", "", fmt.Errorf("%s has no place for the sums of %s", page, of)
	}
	return before + from, between, to + after, nil
}

// Quote writes the table of a record into a page, between its two marks.
func Quote(page, of, table string) error {
	before, _, after, err := place(page, of)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(before+table+after), 0o644)
}

// Quoted returns the table that a page has between the marks of a record.
func Quoted(page, of string) (string, error) {
	_, table, _, err := place(page, of)
	return table, err
}

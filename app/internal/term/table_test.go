package term

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func printed(columns int, head []string, rows ...[]string) (lines []string) {
	var b bytes.Buffer
	(&Term{Out: &b, Columns: columns}).Table(head, rows)
	return strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
}

// TestTablesFit: on a terminal no line is wider than it, ids keep beginning and end, and without a
// terminal nothing is shortened.
func TestTablesFit(t *testing.T) {
	id := func(n int) string { return fmt.Sprintf("019a2b3c-1111-7222-8333-%012x", n) }
	rows := func() [][]string {
		return [][]string{
			{"gate-" + id(0x667e), strings.Repeat("long question ", 8), "order-1234", id(1)},
			{"gate-" + id(0x1667f), "日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本日本", "a thread with a long name, too", "none"},
		}
	}
	head := []string{"GATE", "QUESTION", "THREAD", "HEAD"}
	for columns := 50; columns < 220; columns += 7 {
		for _, line := range printed(columns, head, rows()...) {
			if Width(line) > columns {
				t.Errorf("at %d columns a line has %d: %q", columns, Width(line), line)
			}
		}
	}
	lines := printed(80, head, rows()...)
	for i, want := range []string{"GATE            QUESTION", "gate-019a…667e  long question", "gate-019a…667f  日本"} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	if !strings.HasSuffix(lines[1], "019a…0001") || !strings.HasSuffix(lines[2], "none") {
		t.Errorf("the ends are %q", lines[1:])
	}
	wide := strings.Join(printed(0, head, rows()...), "\n")
	for _, row := range rows() {
		for _, cell := range row {
			if !strings.Contains(wide, strings.TrimSpace(cell)) {
				t.Errorf("without a terminal %q is missing from %q", cell, wide)
			}
		}
	}
}

// TestShortIDsDiffer: ids with equal endings are given longer ones; what only looks like an id stays.
func TestShortIDsDiffer(t *testing.T) {
	const a, b = "019a2b3c-1111-7222-8333-00000000667e", "019a2b3c-1111-7222-8333-00000001667e"
	lines := printed(100, []string{"ID"}, []string{a}, []string{b}, []string{a}, []string{"order-" + a}, []string{"x" + a}, []string{a[1:]})
	want := []string{"ID", "019a…0667e", "019a…1667e", "019a…0667e", "order-019a…0667e", "x" + a, a[1:]}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("line %d is %q, want %q", i, lines[i], want[i])
		}
	}
}

// TestNarrowTerminals: a column is not clipped to nothing.
func TestNarrowTerminals(t *testing.T) {
	lines := printed(10, []string{"A", "B"}, []string{strings.Repeat("x", 40), strings.Repeat("y", 40)})
	if lines[1] != "xxxxxxx…  yyyyyyy…" {
		t.Errorf("it prints %q", lines[1])
	}
}

// TestChoose: a number of the list is a choice, anything else is no choice, and each question reads
// its own line.
func TestChoose(t *testing.T) {
	var out bytes.Buffer
	term := &Term{In: strings.NewReader("2\n3\nx\n\ny\n"), Err: &out, Interactive: true}
	for i, want := range []int{2, 0, 0, 0} {
		got, err := term.Choose(2, "which?")
		if got != want || err != nil {
			t.Errorf("answer %d chooses %d, %v, want %d", i, got, err, want)
		}
	}
	if ok, err := term.Confirm(false, "sure?"); !ok || err != nil {
		t.Errorf("the next question is answered %v, %v", ok, err)
	}
	if n, err := term.Choose(2, "which?"); n != 0 || err != nil {
		t.Errorf("the end of input chooses %d, %v", n, err)
	}
	if !strings.HasPrefix(out.String(), "which? [1-2] ") {
		t.Errorf("it asks %q", out.String())
	}
}

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/posthouse/posthouse/internal/proof/e2e/pages"
	"github.com/posthouse/posthouse/internal/proof/must"
)

const (
	picturesDir = "../../../docs/pictures"
	columns     = 104 // of the terminal
)

// A terminal has two ends: what a command writes to one is read from the other.
type terminal struct{ ours, theirs *os.File }

// openTerminal makes a terminal of so many columns.
func openTerminal(t *testing.T) *terminal {
	t.Helper()
	ours := must.Get(os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	control := func(f *os.File, request uintptr, value unsafe.Pointer) {
		t.Helper()
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(value)); errno != 0 {
			t.Fatalf("a terminal cannot be made: %v", errno)
		}
	}
	var locked, number int32
	control(ours, syscall.TIOCSPTLCK, unsafe.Pointer(&locked))
	control(ours, syscall.TIOCGPTN, unsafe.Pointer(&number))
	theirs := must.Get(os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0))(t)
	control(theirs, syscall.TIOCSWINSZ, unsafe.Pointer(&[4]uint16{40, columns}))
	return &terminal{ours, theirs}
}

// typed runs a command at a terminal, answers its question, and returns all that a person saw.
func (h *house) typed(answer string, args ...string) string {
	h.t.Helper()
	tty := openTerminal(h.t)
	cmd := exec.CommandContext(h.t.Context(), binary, args...)
	colours := slices.DeleteFunc(environment(), func(kv string) bool { return strings.HasPrefix(kv, "NO_COLOR=") })
	cmd.Env = append(colours, "TERM=xterm", "POSTHOUSE_SERVER="+h.url, "POSTHOUSE_DATA_DIR="+h.dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty.theirs, tty.theirs, tty.theirs
	must.Do(h.t, cmd.Start())
	must.Do(h.t, tty.theirs.Close())
	var seen bytes.Buffer
	for buf := make([]byte, 4096); ; {
		n, err := tty.ours.Read(buf)
		seen.Write(buf[:n])
		if answer != "" && bytes.Contains(seen.Bytes(), []byte("[y/N] ")) {
			must.Get(io.WriteString(tty.ours, answer+"\n"))(h.t)
			answer = ""
		}
		if err != nil {
			break // the command has ended, and with it the other end
		}
	}
	_ = cmd.Wait() // what it says of its end is in the picture
	must.Do(h.t, tty.ours.Close())
	return prompt("posthouse", args...) + strings.ReplaceAll(seen.String(), "\r\n", "\n")
}

// prompt is the line with a command.
func prompt(command string, args ...string) string {
	line := "\x1b[2m$\x1b[0m " + command
	for _, a := range args {
		if strings.ContainsAny(a, " $") {
			a = "'" + a + "'"
		}
		line += " " + a
	}
	return line + "\n"
}

// without leaves a range of lines out of what was seen, and says so.
func without(seen, first, last string) string {
	var kept []string
	out := false
	for line := range strings.Lines(seen) {
		switch {
		case !out && strings.HasPrefix(line, first):
			kept, out = append(kept, "\x1b[2m⋮\x1b[0m\n"), true
		case !out:
			kept = append(kept, line)
		}
		if out && strings.HasPrefix(line, last) {
			out = false
		}
	}
	return strings.Join(kept, "")
}

// inTerminal has what differs between two runs of the commands beside ids, times and hashes: ids and times that
// the terminal cut, and which entries are signed: the first after each second is.
var inTerminal = regexp.MustCompile(`[0-9a-f]{4}…[0-9a-f]{4}|\d{4}-\d\d-\d\dT[0-9:]*…|(?m)(signed|by #\d+)$|\d+ of \d+ signatures`)

// TestTerminalPictures runs commands at a terminal and compares docs/pictures/cli-*.svg with what a
// person sees there; -update draws them anew.
func TestTerminalPictures(t *testing.T) {
	if testing.Short() {
		t.Skip("the commands do one thing at a time, in processes of their own")
	}
	h := &walker{house: newHouse(t)}
	h.start()
	for _, order := range []string{"99", "1233", "1234"} {
		h.must("send", "dispatch", "please refund order "+order, "--thread", "order-"+order)
	}
	h.picture("inbox", "posthouse inbox at a terminal: three questions, with short ids", h.typed("", "inbox"))
	approval := h.typed("y", "approve", "order-1234", "--by", "alice", "--reason", "within the limit")
	h.picture("approve", "posthouse approve at a terminal: the question, the content that is approved, the answer, the decision and its effect",
		without(without(without(approval, "verdicts ", "asked "), "parent ", "hash "), "{", "}"))
	var heads []struct{ ID string }
	h.decode(&heads, "checkpoint", "list", "--thread", "order-1234")
	h.picture("diff", "posthouse diff at a terminal: what an approval changed, in red and green", h.typed("", "diff", heads[1].ID, heads[0].ID))
	h.must("checkpoint", "fork", heads[1].ID, "--branch", "what-if", "--patch", `{"request": "please refund order 12"}`)
	h.must("resume", "order-1234", "--branch", "what-if")
	h.picture("log", "posthouse log at a terminal: a thread with its question, decision and effect, and a fork that asks again", h.typed("", "log", "order-1234"))
	h.picture("audit", "posthouse audit at a terminal: who did what, and which entry has the signature", h.typed("", "audit"))
	verified := h.typed("", "verify")
	h.stop()
	h.shell("perl -pi -e 's/order 1234/order 1235/' $POSTHOUSE_DATA_DIR/posthouse.db")
	h.picture("verify", "posthouse verify at a terminal: a store that is as it was written, and the faults of one that was changed",
		verified+prompt("perl -pi -e 's/order 1234/order 1235/' $POSTHOUSE_DATA_DIR/posthouse.db")+h.typed("", "verify"))
}

// picture draws what was seen, or compares it with the picture that is there.
func (w *walker) picture(name, title, seen string) {
	w.t.Helper()
	p := pages.Picture{Title: title, Columns: columns, Text: seen}
	for _, theme := range pages.Themes() {
		svg := must.Get(p.SVG(theme))(w.t)
		path := filepath.Join(picturesDir, "cli-"+name+"-"+theme.Name+".svg")
		if *update {
			must.Do(w.t, os.WriteFile(path, []byte(svg), 0o644))
			continue
		}
		sketch := func(svg string) string {
			return inTerminal.ReplaceAllString(pages.Sketch(pages.TextOf(svg)), "…")
		}
		old := must.Get(os.ReadFile(path))(w.t)
		if a, b := sketch(string(old)), sketch(svg); a != b {
			w.t.Errorf("%s is not what is seen; go test ./internal/proof/e2e -run TerminalPictures -update draws it\n%s",
				path, diff.Diff(path, []byte(a), "now", []byte(b)))
		}
	}
}

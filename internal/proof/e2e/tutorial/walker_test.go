package tutorial

import (
	"bufio"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/e2e/pages"
)

// A walker does what a page says, in a directory that is empty at first.
type walker struct {
	t     *testing.T
	page  string // as in tutorial.md
	home  string // of the reader
	dir   string // where the commands run
	url   string // of the server, while one runs
	ids   pages.IDs
	going []*program // the newest last

	commands, files int
}

// A program is a command that goes on until ^C or kill -9.
type program struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

const readersHome = "/home/ann"

func newWalker(t *testing.T, page string) *walker {
	w := &walker{t: t, page: page, home: filepath.Join(t.TempDir(), "ann"), ids: pages.IDs{}}
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	w.dir = w.home
	t.Cleanup(func() {
		for len(w.going) > 0 {
			w.end(os.Interrupt)
		}
	})
	return w
}

var (
	fenced = regexp.MustCompile("(?ms)^```(console|go|yaml|text)([^\n]*)\n(.*?)^```$")
)

// walk does what a text says, and returns it with what the commands say.
func (w *walker) walk(text string) string {
	return fenced.ReplaceAllStringFunc(text, func(block string) string {
		m := fenced.FindStringSubmatch(block)
		name := strings.TrimSpace(m[2])
		switch {
		case m[1] == "console":
			return "```console\n" + w.console(m[3]) + "```"
		case name != "":
			w.files++
			if tidy, err := format.Source([]byte(m[3])); m[1] == "go" && (err != nil || string(tidy) != m[3]) {
				w.t.Errorf("%s: %s is not as gofmt has it: %v", w.page, name, err)
			}
			if err := os.WriteFile(filepath.Join(w.dir, name), []byte(m[3]), 0o600); err != nil {
				w.t.Fatal(err)
			}
		}
		return block
	})
}

// console runs the commands of a block.
func (w *walker) console(text string) string {
	var b strings.Builder
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line == "^C" {
			w.end(os.Interrupt)
			b.WriteString("^C\n")
			continue
		}
		cmd, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		w.commands++
		var page []string
		for _, l := range lines[i+1:] {
			if strings.HasPrefix(l, "$ ") || l == "^C" {
				break
			}
			page = append(page, l)
		}
		cmd, err := w.ids.Translate(cmd)
		if err != nil {
			w.t.Fatalf("%s: %v", w.page, err)
		}
		out := w.there(w.do(cmd))
		w.ids.Learn(strings.Join(page, "\n"), out)
		b.WriteString("$ " + cmd + "\n" + out)
	}
	return b.String()
}

// do runs one command line.
func (w *walker) do(line string) string {
	w.t.Helper()
	switch args := strings.Fields(line); {
	case args[0] == "cd":
		w.dir = filepath.Join(w.dir, args[1])
		return ""
	case strings.HasPrefix(line, "kill -9 "):
		w.end(os.Kill)
		return ""
	case line == "go get github.com/posthouse/posthouse@latest":
		w.get()
		return ""
	case strings.HasPrefix(line, "posthouse init "):
		line += " --posthouse " + checkout
	case len(args) > 1 && (args[1] == "serve" || args[1] == "dev" || args[1] == "worker"):
		return w.begin(line)
	}
	for {
		cmd := w.shell(line)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			w.t.Fatalf("%s: %s: %v", w.page, line, err)
		}
		// Somebody who asks for the questions of a thread waits until a worker has done its task.
		if !strings.Contains(line, " inbox --thread ") || strings.Contains(string(out), "gate-") || w.t.Context().Err() != nil {
			return string(out)
		}
	}
}

// shell is a command line in the reader's place.
func (w *walker) shell(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = w.dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "POSTHOUSE_") && !strings.HasPrefix(kv, "XDG_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "NO_COLOR=1", "CGO_ENABLED=0", "GOPROXY=off", "XDG_DATA_HOME="+w.home+"/.local/share", "XDG_CONFIG_HOME="+w.home+"/.config",
		"PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"), "POSTHOUSE_ADDR=127.0.0.1:0")
	if w.url != "" {
		cmd.Env = append(cmd.Env, "POSTHOUSE_SERVER="+w.url)
	}
	return cmd
}

// get requires the product's module as go get does, from this checkout.
func (w *walker) get() {
	w.t.Helper()
	other := filepath.Join(w.t.TempDir(), "other")
	if out, err := w.shell("posthouse init " + other + " --module example.com/refunds --posthouse " + checkout).CombinedOutput(); err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(other, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(w.dir, name), data, 0o600)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// begin starts a program that goes on, and returns what it says until it is ready.
func (w *walker) begin(line string) string {
	w.t.Helper()
	cmd := w.shell("exec " + line)
	r, out, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	_ = out.Close() // the program has it
	p := &program{cmd: cmd, ended: make(chan struct{})}
	w.going = append(w.going, p)
	said := make(chan string)
	go func() {
		defer close(p.ended)
		defer r.Close()
		var b strings.Builder
		ready := false
		for sc := bufio.NewScanner(r); sc.Scan(); {
			b.WriteString(sc.Text() + "\n")
			if ready {
				continue
			}
			ready = strings.HasPrefix(sc.Text(), "next: ") || strings.HasPrefix(sc.Text(), "handling ")
			if ready {
				said <- b.String()
			}
		}
		if !ready {
			said <- b.String()
		}
		_ = cmd.Wait() // ended by a signal
	}()
	text := <-said
	if m := regexp.MustCompile(`(?m)^Page +(\S+)/$`).FindStringSubmatch(text); m != nil {
		w.url = m[1]
	}
	return text
}

// end ends the newest program that goes on.
func (w *walker) end(with os.Signal) {
	if len(w.going) == 0 {
		w.t.Errorf("%s ends a program, and none goes on", w.page)
		return
	}
	p := w.going[len(w.going)-1]
	w.going = w.going[:len(w.going)-1]
	_ = p.cmd.Process.Signal(with) // it may have ended
	<-p.ended
}

// there puts what is the reader's in the place of what is the test's.
func (w *walker) there(out string) string {
	out = strings.ReplaceAll(out, w.home, readersHome)
	if w.url != "" {
		out = strings.ReplaceAll(out, " --server "+w.url, "")
		out = strings.ReplaceAll(out, w.url, "http://127.0.0.1:8095")
	}
	return strings.ReplaceAll(out, checkout, readersHome+"/posthouse")
}

package e2e

import (
	"cmp"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/posthouse/posthouse/internal/proof/e2e/pages"
)

var update = flag.Bool("update", false, "write what the commands say into docs/walk.md")

const walkPage = "../../../docs/walk.md"

// TestReadmeWalk runs the commands of docs/walk.md and compares what the page says with
// what they print, ids, times and hashes aside.
func TestReadmeWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("the commands do one thing at a time, in processes of their own")
	}
	text, err := os.ReadFile(walkPage)
	if err != nil {
		t.Fatal(err)
	}
	w := &walker{house: newHouse(t), ids: pages.IDs{}}
	got := console.ReplaceAllStringFunc(string(text), w.block)
	if w.commands < 10 {
		t.Errorf("docs/walk.md has %d commands", w.commands)
	}
	if *update {
		if err := os.WriteFile(walkPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if a, b := pages.Sketch(string(text)), pages.Sketch(got); a != b {
		t.Errorf("docs/walk.md does not say what the commands say; go test ./internal/proof/e2e -run Readme -update mends it\n%s",
			diff.Diff("docs/walk.md", []byte(a), "now", []byte(b)))
	}
}

var (
	console = regexp.MustCompile("(?s)```console\n.*?```")
)

// A walker runs the commands of a page against one house.
type walker struct {
	*house
	ids      pages.IDs
	commands int
}

// block runs a block's commands and returns it with what they say.
func (w *walker) block(block string) string {
	lines := strings.Split(strings.TrimSuffix(strings.TrimPrefix(block, "```console\n"), "```"), "\n")
	var b strings.Builder
	b.WriteString("```console\n")
	for i, line := range lines {
		cmd, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		w.commands++
		var page []string
		for _, l := range lines[i+1:] {
			if strings.HasPrefix(l, "$ ") {
				break
			}
			page = append(page, l)
		}
		here, err := w.ids.Translate(cmd)
		if err != nil {
			w.t.Fatalf("%s: %v", walkPage, err)
		}
		cmd = here
		out := w.do(cmd)
		w.ids.Learn(strings.Join(page, "\n"), out)
		b.WriteString("$ " + cmd + "\n" + out)
	}
	b.WriteString("```")
	return b.String()
}

// do runs one command of the page.
func (w *walker) do(cmd string) string {
	switch {
	case cmd == "export POSTHOUSE_DATA_DIR="+walkDir:
		return "" // which the commands of a house have anyway
	case strings.HasPrefix(cmd, "go run ./cmd/posthouse dev"):
		return w.asByDefault(w.start())
	case strings.HasPrefix(cmd, "kill -9 "):
		w.kill()
		return ""
	case strings.HasPrefix(cmd, "perl "):
		w.stop()
		return w.shell(cmd)
	case strings.HasPrefix(cmd, "rm "):
		return w.shell(cmd)
	}
	args, ok := strings.CutPrefix(cmd, "posthouse ")
	if !ok {
		w.t.Fatalf("docs/walk.md has a command that this test cannot run: %s", cmd)
	}
	o := w.run(words(args)...)
	return o.out + o.errOut
}

// walkDir is the data directory of the page.
const walkDir = "/tmp/posthouse-try"

// asByDefault puts the address and the data directory of the page in the place of
// those of the test.
func (w *walker) asByDefault(banner string) string {
	banner = strings.ReplaceAll(banner, " --server "+w.url, "")
	banner = strings.ReplaceAll(banner, w.dir, walkDir)
	return strings.ReplaceAll(banner, w.url, "http://127.0.0.1:8095")
}

// shell runs a foreign command on the data directory.
func (w *walker) shell(line string) string {
	w.t.Helper()
	args := words(strings.ReplaceAll(line, "$POSTHOUSE_DATA_DIR", w.dir))
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// words splits a command line at spaces outside quotes.
func words(line string) (all []string) {
	for _, m := range regexp.MustCompile(`"([^"]*)"|'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		all = append(all, m[1]+m[2]+m[3])
	}
	return all
}

// TestReadmeCommands holds README.md to its two commands: the walk begins with the first, and
// the second is how CI runs the tests.
func TestReadmeCommands(t *testing.T) {
	for file, line := range map[string]string{
		"../../../README.md": "\n    go run ./cmd/posthouse dev\n    go test ./...\n",
		walkPage:             "\n$ go run ./cmd/posthouse dev\n",
		"../../../.ci/run":   " go test ./...\n",
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), line) {
			t.Errorf("%s has no line %q", file, line)
		}
	}
}

// TestLinks looks up each file that a page of the documentation points to, wherever in the
// repository the page is, and in a page the heading.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([\w./-]+\.(?:md|go)|LICENSE)?(#[^)]*)?\)`)
	pages := 0
	err := filepath.WalkDir("../../..", func(page string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return cmp.Or(err, fs.SkipDir)
		}
		if filepath.Ext(page) != ".md" {
			return nil
		}
		pages++
		text, err := os.ReadFile(page)
		for _, m := range link.FindAllSubmatch(text, -1) {
			file := page
			if len(m[1]) > 0 {
				file = filepath.Join(filepath.Dir(page), string(m[1]))
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("%s points to %s, which is not there", page, m[1])
			}
			if anchor := strings.TrimPrefix(string(m[2]), "#"); anchor != "" && filepath.Ext(file) == ".md" && !hasAnchor(text, anchor) {
				t.Errorf("%s points to the heading %s of %s, which is not there", page, anchor, file)
			}
		}
		return err
	})
	if err != nil || pages < 20 {
		t.Fatalf("%d pages, %v", pages, err)
	}
}

// hasAnchor reports whether a heading of the page has this anchor, as GitHub makes them.
func hasAnchor(page []byte, anchor string) bool {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllSubmatch(page, -1) {
		words := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(string(m[1])), "")
		if strings.ReplaceAll(words, " ", "-") == anchor {
			return true
		}
	}
	return false
}

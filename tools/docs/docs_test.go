package main

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the archive of the pages, and llms.txt")

const repository = "../.."

// TestPagesAreThoseOfTheMarkdown builds the pages of this repository: every link leads somewhere, every
// page is in the contents, every figure has its picture, and what is committed is what is built.
func TestPagesAreThoseOfTheMarkdown(t *testing.T) {
	packed := filepath.Join(repository, "ui/docs.tar.zst")
	if *update {
		if err := run(repository, packed); err != nil {
			t.Fatal(err)
		}
		return
	}
	s, err := build(repository)
	if err != nil {
		t.Fatal(err)
	}
	files, err := s.files()
	if err != nil {
		t.Fatal(err)
	}
	data, err := archive(files)
	if err != nil {
		t.Fatal(err)
	}
	full, err := compressed(s.llmsFull())
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]byte{packed: data, filepath.Join(repository, "ui", fullName): full, filepath.Join(repository, "llms.txt"): s.llms(false)} {
		now, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(now, want) {
			t.Errorf("%s is not what the Markdown makes; make docs writes it", file)
		}
	}
	if len(full) > maxFull {
		t.Errorf("%s has %d bytes, and at most %d are allowed", fullName, len(full), maxFull)
	}
	if len(data) > maxAll {
		t.Errorf("the pages have %d bytes, and at most %d are allowed", len(data), maxAll)
	}
}

// TestFaultsAreFound builds a small repository with everything that may be wrong.
func TestFaultsAreFound(t *testing.T) {
	root := t.TempDir()
	write := func(file, text string) {
		t.Helper()
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	contents := "# Docs\n\n> About.\n\n## Start\n\n- [A](a.md): the first\n- [Us](../README.md)\n- [News](../CHANGELOG.md)\n- [How](../ARCHITECTURE.md)\n- [Rules](../CONTRIBUTING.md)\n- [Safe](../SECURITY.md)\n"
	write("docs/README.md", contents)
	for _, file := range outside {
		write(file, "# "+file+"\n")
	}
	write("pkg/doc.go", "package pkg\n")
	write("docs/figures/gone-1.light.svg", "<svg/>")
	good := "# A\n\n## Two words, `code`\n\n[own](#two-words-code) [file](../pkg/doc.go#L1) [room](../pkg) [page](../README.md#readmemd)\n"
	write("docs/a.md", good+"\n<a id=\"row\"></a> [row](#row)\n")
	if err := os.Remove(filepath.Join(root, "docs/figures/gone-1.light.svg")); err != nil {
		t.Fatal(err)
	}
	s, err := build(root)
	if err != nil {
		t.Fatalf("a repository without faults: %v", err)
	}
	body := string(s.pages["docs/a.md"].Body)
	for _, want := range []string{`href="#two-words-code"`, `href="` + repositoryURL + `/blob/main/pkg/doc.go#L1"`, `href="` + repositoryURL + `/tree/main/pkg"`, `href="/docs/about#readmemd"`, `<h2 id="two-words-code">`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s:\n%s", want, body)
		}
	}
	write("docs/figures/gone-1.light.svg", "<svg/>")
	write("docs/lost.md", "# Lost\n")
	write("notes.md", "[away](nowhere.txt)\n")
	write("docs/a.md", good+strings.Join([]string{
		"[x](gone.md)", "[x](#no-heading)", "[x](../README.md#no-such)", "[x](../../secret)", "[x](/docs/a)", "![x](gone.png)", "<iframe src=x></iframe>",
		"[x](" + repositoryURL + "/blob/main/nothing.go)", "[x](https://pkg.go.dev/github.com/posthouse/posthouse/nopkg#X)", "```mermaid\nflowchart LR\n a --> b\n```",
	}, "\n\n")+"\n")
	_, err = build(root)
	if err == nil {
		t.Fatal("no fault is found")
	}
	for _, want := range []string{
		"docs/a.md: gone.md leads to no file", "docs/a.md: #no-heading leads to no heading of docs/a.md", "docs/a.md: ../README.md#no-such leads to no heading of README.md", "../../secret leads out of the repository",
		"/docs/a leads to a server", "gone.png leads to no file", "has the tag <iframe src=x>", "blob/main/nothing.go leads to no file", "nopkg#X leads to no file", "figure 1 has no picture of its source in docs/figures/a-1.dark.svg",
		"docs/lost.md: is in no section of docs/README.md", "notes.md: nowhere.txt leads to no file", "docs/figures/gone-1.light.svg: is the picture of no figure",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n > 15 {
		t.Errorf("%d faults: %v", n, err)
	}
}

// TestFiguresAreListedUntilDrawn lists a figure until there is a picture of its source in both themes.
func TestFiguresAreListedUntilDrawn(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"docs/figures"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range append([]string{contentsFile}, outside...) {
		write(file, "# T\n")
	}
	write("docs/a.md", "# A\n\n```mermaid\nflowchart LR\n```\n")
	listed := func() []drawing {
		t.Helper()
		todo, err := listFigures(root)
		if err != nil {
			t.Fatal(err)
		}
		return todo
	}
	todo := listed()
	if len(todo) != 1 || todo[0].Name != "a-1" || todo[0].Source != "flowchart LR\n" {
		t.Fatalf("to be drawn: %+v", todo)
	}
	for _, theme := range themes {
		write("docs/figures/a-1."+theme+".svg", "<!-- made of "+todo[0].Digest+" -->\n<svg/>")
	}
	if todo = listed(); len(todo) != 0 {
		t.Errorf("drawn, and still listed: %+v", todo)
	}
	write("docs/a.md", "# A\n\n```mermaid\nflowchart TD\n```\n")
	if todo = listed(); len(todo) != 1 {
		t.Errorf("changed, and not listed")
	}
	write("docs/a.md", "# A\n")
	if todo = listed(); len(todo) != 0 {
		t.Errorf("taken out, and still listed: %+v", todo)
	}
	if left, _ := filepath.Glob(filepath.Join(root, "docs/figures/*")); len(left) != 0 {
		t.Errorf("pictures of no figure stay: %v", left)
	}
}

// TestCodeIsColoured has code in HTML say what it said, and nothing more.
func TestCodeIsColoured(t *testing.T) {
	for _, c := range []struct{ language, text, want string }{
		{"go", "if x < 1 { // less\n\treturn \"<b>\"\n}", `<pre><code><span class="k">if</span> x &lt; 1 { <span class="c">// less</span>` + "\n\t" + `<span class="k">return</span> <span class="s">&#34;&lt;b&gt;&#34;</span>` + "\n}</code></pre>\n"},
		{"go", "a := ...,\nfunc(\"open", `<pre><code>a := ...,` + "\n" + `<span class="k">func</span>(<span class="s">&#34;open</span></code></pre>` + "\n"},
		{"console", "$ ls # all\na & b", `<pre class="console"><code><span class="p">$ </span>ls <span class="c"># all</span>` + "\na &amp; b</code></pre>\n"},
		{"json", `{"a": "<"}`, "<pre><code>{&#34;a&#34;: &#34;&lt;&#34;}</code></pre>\n"},
	} {
		if got := coloured(c.language, c.text); got != c.want {
			t.Errorf("%s %q is\n%q, want\n%q", c.language, c.text, got, c.want)
		}
	}
}

// TestWordsAreFound looks words up in the index of a small site.
func TestWordsAreFound(t *testing.T) {
	s, err := build(repository)
	if err != nil {
		t.Fatal(err)
	}
	x := indexer{words: map[string][]int{}}
	for _, p := range s.order {
		x.page(p)
	}
	for _, word := range []string{"quorum", "posthouse_data_dir", "err_none_such", "checkpoint", "drain"} {
		if (len(x.words[word]) > 0) == (word == "err_none_such") {
			t.Errorf("%s is in %d sections", word, len(x.words[word]))
		}
	}
	for w, of := range x.words {
		if !slices.IsSorted(of) {
			t.Errorf("the sections of %s are in no order", w)
		}
	}
	if n := len(slices.Collect(maps.Keys(x.words))); n < 2000 || len(x.Sections) < 300 {
		t.Errorf("%d words in %d sections", n, len(x.Sections))
	}
}

package shipping

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDependabot compares what is kept up to date with what there is: a module, an action or a
// base image that nobody watches grows old.
func TestDependabot(t *testing.T) {
	type update struct {
		Ecosystem   string `yaml:"package-ecosystem"`
		Directory   string
		Directories []string
		Schedule    struct{ Interval string }
		Limit       int `yaml:"open-pull-requests-limit"`
		Groups      map[string]struct {
			Patterns    []string
			UpdateTypes []string `yaml:"update-types"`
		}
		Commit struct{ Prefix string } `yaml:"commit-message"`
	}
	d := parse[struct {
		Version int
		Updates []update
	}](t, ".github/dependabot.yml")
	var got []string
	for _, u := range d.Updates {
		if u.Schedule.Interval == "" || u.Commit.Prefix == "" {
			t.Errorf("%s says neither when nor with which subject: %+v", u.Ecosystem, u)
		}
		for _, dir := range append(u.Directories, u.Directory) {
			if dir != "" {
				got = append(got, u.Ecosystem+" "+dir)
			}
		}
	}
	want := []string{"github-actions /"}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules"}, e.Name()) {
			return skipped(err)
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		dir := strings.TrimSuffix("/"+filepath.ToSlash(filepath.Dir(file)), ".")
		switch e.Name() {
		case "go.mod":
			want = append(want, "gomod "+dir)
		case "package.json":
			want = append(want, "npm "+dir)
		case "Dockerfile":
			want = append(want, "docker "+dir)
		case "compose.yaml":
			want = append(want, "docker-compose "+dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if d.Version != 2 || !slices.Equal(got, want) {
		t.Errorf("dependabot watches %q, want %q", got, want)
	}
}

// skipped passes an error on, and skips the directory without one.
func skipped(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// TestIssueForms reads the forms: what is asked has a name and an answer that is needed.
func TestIssueForms(t *testing.T) {
	type field struct {
		Type, ID   string
		Attributes struct {
			Label, Description, Value, Render string
			Options                           []string
		}
		Validations struct{ Required bool }
	}
	for _, name := range []string{"bug", "idea"} {
		f := parse[struct {
			Name, Description string
			Labels            []string
			Body              []field
		}](t, ".github/ISSUE_TEMPLATE/"+name+".yml")
		ids, required := map[string]bool{}, 0
		for _, b := range f.Body {
			if !slices.Contains([]string{"markdown", "textarea", "input", "dropdown"}, b.Type) {
				t.Errorf("%s asks by %q", name, b.Type)
			}
			if b.Type == "markdown" {
				continue
			}
			if b.ID == "" || ids[b.ID] || b.Attributes.Label == "" || (b.Type == "dropdown") != (len(b.Attributes.Options) > 1) {
				t.Errorf("%s: a field has no name, no label, the name of another or no choice: %+v", name, b)
			}
			ids[b.ID] = true
			if b.Validations.Required {
				required++
			}
		}
		if f.Name == "" || f.Description == "" || len(f.Labels) == 0 || required == 0 {
			t.Errorf("%s says too little, or asks for nothing: %+v", name, f)
		}
	}
	c := parse[struct {
		Blank bool                                `yaml:"blank_issues_enabled"`
		Links []struct{ Name, URL, About string } `yaml:"contact_links"`
	}](t, ".github/ISSUE_TEMPLATE/config.yml")
	if c.Blank || !slices.ContainsFunc(c.Links, func(l struct{ Name, URL, About string }) bool { return l.URL == advisories }) {
		t.Errorf("the chooser does not lead to %s: %+v", advisories, c)
	}
}

// advisories is where a vulnerability is reported in private.
const advisories = "https://github.com/posthouse/posthouse/security/advisories/new"

// TestCommunityFiles follows the links of the pages that people look for first, and looks up
// the paths that have owners.
func TestCommunityFiles(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	for _, page := range []string{"SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md"} {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s links %s: %v", page, m[1], err)
			}
		}
	}
	security := read(t, "SECURITY.md")
	for _, want := range []string{advisories, "(docs/guarantees/security.md)", "## Supported versions"} {
		if !strings.Contains(security, want) {
			t.Errorf("SECURITY.md lacks %s", want)
		}
	}
	if dco := read(t, "DCO"); !strings.HasPrefix(dco, "Developer Certificate of Origin\nVersion 1.1\n") || !strings.Contains(read(t, "CONTRIBUTING.md"), "](DCO)") {
		t.Error("DCO is not the certificate, or CONTRIBUTING.md does not name it")
	}
	owners := 0
	for line := range strings.Lines(read(t, ".github/CODEOWNERS")) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		owners++
		if words[0] != "*" {
			if _, err := os.Stat(filepath.Join(root, words[0])); err != nil {
				t.Errorf("CODEOWNERS: %v", err)
			}
		}
		if len(words) < 2 || !strings.HasPrefix(words[1], "@posthouse/") {
			t.Errorf("CODEOWNERS: %s has the owners %q", words[0], words[1:])
		}
	}
	if owners < 5 {
		t.Errorf("only %d paths have owners", owners)
	}
}

// TestSignedOff runs the check of sign-offs on a branch of three commits: one that its author
// signed off, one that another did, and one without a sign-off.
func TestSignedOff(t *testing.T) {
	script, err := filepath.Abs(filepath.Join(root, ".ci/dco"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Logf("there is no bash here: %v", err)
		return
	}
	dir := t.TempDir()
	run := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	git := func(args ...string) {
		t.Helper()
		if out, err := run("git", args...); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	commit := func(message string, more ...string) {
		t.Helper()
		git(append([]string{"commit", "-q", "--allow-empty", "-m", message}, more...)...)
	}
	git("init", "-q")
	commit("root")
	commit("first", "-s")
	if out, err := run(script, "HEAD~1", "HEAD"); err != nil || out != "" {
		t.Errorf("a commit that is signed off: %v\n%s", err, out)
	}
	commit("second\n\nSigned-off-by: Bob <bob@example.com>")
	commit("third")
	out, err := run(script, "HEAD~3", "HEAD")
	if err == nil || !strings.Contains(out, "second") || !strings.Contains(out, "third") || strings.Contains(out, "first") {
		t.Errorf("commits that their author did not sign off: %v\n%s", err, out)
	}
	if out, err := run(script, "nothing", "HEAD"); err == nil {
		t.Errorf("a branch that there is not: %s", out)
	}
}

package shipping

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

type workflow struct {
	Name        string
	On          yaml.Node
	Permissions *map[string]string
	Concurrency yaml.Node
	Jobs        map[string]job
}

type job struct {
	Uses        string
	Needs       string
	RunsOn      string `yaml:"runs-on"`
	Timeout     int    `yaml:"timeout-minutes"`
	Environment string
	Permissions *map[string]string
	Container   *struct{ Image, Options string }
	Env         map[string]string
	Strategy    yaml.Node
	Steps       []action
}

// An action is a step of a job.
type action struct {
	ID, Name, If, Uses, Run, Shell string

	With map[string]string
	Env  map[string]string
}

// writes are the permissions of jobs beyond reading the repository. Each is there for a step
// that cannot do without.
var writes = map[string][]string{
	"codeql.yml analyze":  {"security-events"},
	"scorecard.yml score": {"security-events", "id-token"},
	"release.yml publish": {"contents", "id-token", "attestations"},
	"release.yml image":   {"packages", "id-token", "attestations"},
}

// workflows returns those of the repository, by the names of their files.
func workflows(t *testing.T) map[string]*workflow {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*workflow{}
	for _, f := range files {
		name := filepath.Base(f)
		all[name] = parse[workflow](t, ".github/workflows/"+name)
	}
	for _, name := range []string{"ci.yml", "codeql.yml", "dco.yml", "govulncheck.yml", "release.yml", "scorecard.yml"} {
		if all[name] == nil {
			t.Errorf("there is no workflow %s", name)
		}
	}
	return all
}

// TestWorkflowsMayLittle reads who may what: nothing by default, the repository where a job
// says so, and more in the jobs that are listed here.
func TestWorkflowsMayLittle(t *testing.T) {
	for file, w := range workflows(t) {
		if w.Permissions == nil || len(*w.Permissions) > 0 {
			t.Errorf("%s gives all its jobs permissions: write permissions: {}, and what each needs", file)
		}
		for name, j := range w.Jobs {
			where := file + " " + name
			if j.Permissions == nil {
				t.Errorf("%s: the job does not say what it may", where)
				continue
			}
			for scope, level := range *j.Permissions {
				if level != "read" && !(level == "write" && slices.Contains(writes[where], scope)) {
					t.Errorf("%s may %s %s, which is not listed", where, level, scope)
				}
			}
			for _, scope := range writes[where] {
				if (*j.Permissions)[scope] != "write" {
					t.Errorf("%s is listed with %s, and does not have it", where, scope)
				}
			}
			if j.Uses == "" && (j.Timeout == 0 || j.RunsOn != "ubuntu-24.04") {
				t.Errorf("%s runs on %q for %d minutes at most: name a version, and a limit", where, j.RunsOn, j.Timeout)
			}
		}
	}
	for where := range writes {
		file, name, _ := strings.Cut(where, " ")
		if w := workflows(t)[file]; w == nil || w.Jobs[name].Permissions == nil {
			t.Errorf("there is no job %s", where)
		}
	}
}

// TestWorkflowsRunOwnCode looks for the ways in which somebody else's text becomes code: an
// action that moved, an expression in a script, a workflow that runs a stranger's change with
// permissions of ours, a credential that is left in the checkout.
func TestWorkflowsRunOwnCode(t *testing.T) {
	for file, w := range workflows(t) {
		for _, on := range []string{"pull_request_target", "workflow_run", "issue_comment", "discussion"} {
			if strings.Contains(text(&w.On), on) {
				t.Errorf("%s runs on %s, with permissions and code of different people", file, on)
			}
		}
		for name, j := range w.Jobs {
			for _, s := range j.Steps {
				if strings.Contains(s.Run, " | ") && !strings.Contains(s.Run, "docker login") && s.Shell != "bash" {
					t.Errorf("%s %s: the first command of a pipe may fail unseen: say shell: bash\n%s", file, name, s.Run)
				}
				if strings.Contains(s.Run, "${{") {
					t.Errorf("%s %s: an expression becomes part of a script: give it as a variable\n%s", file, name, s.Run)
				}
				if strings.HasPrefix(s.Uses, "actions/setup-go@") && s.With["go-version"] != language(t)+".x" {
					t.Errorf("%s %s is built by Go %q, want the latest of %s", file, name, s.With["go-version"], language(t))
				}
				if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != "false" {
					t.Errorf("%s %s: the checkout keeps a credential", file, name)
				}
			}
		}
	}
}

// text returns all scalars of a node, one a line.
func text(n *yaml.Node) string {
	all := n.Value + "\n"
	for _, c := range n.Content {
		all += text(c)
	}
	return all
}

// TestActionsArePinned holds each action to one commit, with its version beside it.
func TestActionsArePinned(t *testing.T) {
	pinned := regexp.MustCompile(`^\s*(?:- )?uses: (?:(\./\S+)|([\w-]+/[\w-]+)(?:/[\w-]+)*@([0-9a-f]{40}) # (v\d+\.\d+\.\d+))$`)
	versions := map[string]string{} // of repositories, with the commit
	uses := 0
	for file := range workflows(t) {
		for line := range strings.Lines(read(t, ".github/workflows/"+file)) {
			if !strings.Contains(line, "uses:") {
				continue
			}
			uses++
			m := pinned.FindStringSubmatch(strings.TrimRight(line, "\n"))
			if m == nil {
				t.Errorf("%s: %q: write OWNER/NAME@COMMIT # VERSION", file, strings.TrimSpace(line))
				continue
			}
			if repo, version := m[2], m[3]+" "+m[4]; repo != "" {
				if versions[repo] != "" && versions[repo] != version {
					t.Errorf("%s is used at %s and at %s", repo, versions[repo], version)
				}
				versions[repo] = version
			}
		}
	}
	if uses < 8 {
		t.Errorf("only %d actions were found: %v", uses, slices.Sorted(maps.Keys(versions)))
	}
}

// TestCI runs one command, the one that a contributor runs.
func TestCI(t *testing.T) {
	w := workflows(t)["ci.yml"]
	var runs []string
	for _, j := range w.Jobs {
		for _, s := range j.Steps {
			if s.Run != "" {
				runs = append(runs, s.Run)
			}
		}
	}
	if !slices.Equal(runs, []string{".ci/run"}) {
		t.Errorf("ci runs %q, want .ci/run alone", runs)
	}
	on := text(&w.On)
	for _, event := range []string{"push", "pull_request", "workflow_call"} {
		if !strings.Contains(on, event+"\n") {
			t.Errorf("ci does not run on %s", event)
		}
	}
	if image := w.Jobs["check"].Container.Image; !strings.HasPrefix(image, "golang:"+language(t)+"-") {
		t.Errorf("ci runs in %s, and go.mod asks for Go %s", image, language(t))
	}
}

// TestReleaseWorkflow follows a tag: everything is checked first, who builds may not publish, who
// publishes builds nothing, and what is published is attested and signed.
func TestReleaseWorkflow(t *testing.T) {
	w := workflows(t)["release.yml"]
	if on := strings.Fields(text(&w.On)); !slices.Equal(on, []string{"push", "tags", "v[0-9]+.[0-9]+.[0-9]+*"}) {
		t.Errorf("releases are made on %q, want tags alone", on)
	}
	for name, want := range map[string]struct {
		needs string
		steps []string
	}{
		"check":   {"", nil},
		"build":   {"check", []string{"actions/checkout", "actions/setup-go", `go -C tools run ./release -root .. -out ../dist -version "$GITHUB_REF_NAME"`, "actions/upload-artifact"}},
		"publish": {"build", []string{"actions/download-artifact", "actions/attest-build-provenance", "sigstore/cosign-installer", "cosign sign-blob", "kind="}},
		"image":   {"check", []string{"actions/checkout", "echo", "tags=", "actions/attest-build-provenance", "sigstore/cosign-installer", "cosign sign"}},
	} {
		j := w.Jobs[name]
		if j.Needs != want.needs || len(j.Steps) != len(want.steps) {
			t.Errorf("the job %s needs %q and has %d steps, want %q and %d", name, j.Needs, len(j.Steps), want.needs, len(want.steps))
			continue
		}
		for i, s := range j.Steps {
			if !strings.HasPrefix(s.Uses+s.Run, want.steps[i]) {
				t.Errorf("step %d of %s is %s%s, want %s", i, name, s.Uses, s.Run, want.steps[i])
			}
			if strings.HasPrefix(s.Uses, "actions/setup-go@") && s.With["cache"] != "false" {
				t.Errorf("%s builds from a cache that other runs fill", name)
			}
		}
	}
	if w.Jobs["check"].Uses != "./.github/workflows/ci.yml" {
		t.Errorf("a release is checked by %q", w.Jobs["check"].Uses)
	}
	for _, s := range w.Jobs["publish"].Steps {
		if strings.HasPrefix(s.Uses, "actions/attest-build-provenance@") && s.With["subject-checksums"] != "dist/checksums.txt" {
			t.Errorf("not all files are attested: %v", s.With)
		}
	}
}

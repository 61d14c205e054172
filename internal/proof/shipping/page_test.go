package shipping

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const page = "docs/deployment.md"

// TestDeploymentPage reads the commands and links of the page: values of the chart are those that
// it takes, versions are the chart's, and files that are named are there.
func TestDeploymentPage(t *testing.T) {
	text := read(t, page)
	installs := regexp.MustCompile(`(?m)^\$ helm install (\S+) (\S+) (.*)$`).FindAllStringSubmatch(text, -1)
	for _, m := range installs {
		if m[2] != chart {
			t.Errorf("the page installs %s, and the chart is %s", m[2], chart)
		}
		objects, err := render(t, m[1], given(t, m[3]))
		if err != nil || objects["StatefulSet"] == nil {
			t.Errorf("helm install %s: %v", m[3], err)
		}
	}
	if len(installs) != 2 {
		t.Errorf("the page installs the chart %d times, want one server and several", len(installs))
	}
	version := decode[struct{ Version string }](t, read(t, chart+"/Chart.yaml")).Version
	shown := regexp.MustCompile(`(?:posthouse[_:]|/tags/v)(\d+\.\d+\.\d+)`).FindAllStringSubmatch(text, -1)
	for _, v := range shown {
		if v[1] != version {
			t.Errorf("the page shows %s, and the chart has the version %s", v[0], version)
		}
	}
	if len(shown) < 4 {
		t.Errorf("the page shows only %d versions", len(shown))
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, "docs", m[1])); err != nil {
			t.Errorf("the page links %s: %v", m[1], err)
		}
	}
	for _, name := range []string{"README.md", "docs/operations.md", "SECURITY.md"} {
		if !strings.Contains(read(t, name), "deployment.md") {
			t.Errorf("%s does not lead to the page", name)
		}
	}
}

// given returns the values of a command line's --set, in YAML.
func given(t *testing.T, line string) string {
	t.Helper()
	all := map[string]any{}
	for _, m := range regexp.MustCompile(`--set (\S+?)=(\S+)`).FindAllStringSubmatch(line, -1) {
		path := strings.Split(m[1], ".")
		at := all
		for _, name := range path[:len(path)-1] {
			if at[name] == nil {
				at[name] = map[string]any{}
			}
			at = at[name].(map[string]any)
		}
		at[path[len(path)-1]] = decode[any](t, strings.NewReplacer("{", "[", "}", "]").Replace(m[2]))
	}
	data, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestComposeSecrets runs the lines of the page that make the secrets of the composition: they
// make the files that it names, and both servers have one password.
func TestComposeSecrets(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Logf("there is no shell here: %v", err)
		return
	}
	block := regexp.MustCompile("(?s)```sh\n(cd deploy/compose\n.*?)```").FindStringSubmatch(read(t, page))
	if block == nil {
		t.Fatal("the page makes no secrets")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "deploy/compose"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), sh, "-eu", "-c", "docker() { echo docker \"$@\"; }\n"+block[1])
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != "docker compose up --detach\n" {
		t.Fatalf("the lines print %q: %v", out, err)
	}
	made := map[string]string{}
	for name, secret := range parse[compose](t, "deploy/compose/compose.yaml").Secrets {
		data, err := os.ReadFile(filepath.Join(dir, "deploy/compose", secret.File))
		if err != nil {
			t.Fatal(err)
		}
		made[name] = string(data)
	}
	password := made["postgres_password"]
	if len(password) < 20 || made["pgpass"] != "postgres:5432:posthouse:posthouse:"+password+"\n" {
		t.Errorf("the secrets are %q", made)
	}
}

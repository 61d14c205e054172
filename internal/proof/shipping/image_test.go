package shipping

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An instruction is one of a Dockerfile, with its continued lines.
type instruction struct{ name, rest string }

func instructions(t *testing.T, name string) (all []instruction) {
	t.Helper()
	pending := ""
	for line := range strings.Lines(read(t, name)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if more, ok := strings.CutSuffix(line, `\`); ok {
			pending += more
			continue
		}
		word, rest, _ := strings.Cut(pending+line, " ")
		all = append(all, instruction{word, strings.TrimSpace(rest)})
		pending = ""
	}
	if pending != "" {
		t.Errorf("%s ends within an instruction", name)
	}
	return all
}

// TestImage reads the Dockerfile: the image begins empty, nothing in it runs as root, and a
// check of its health is a command that it has.
func TestImage(t *testing.T) {
	all := instructions(t, "Dockerfile")
	stages := 0
	final := map[string]string{} // the last of each instruction
	var copied []string
	for _, in := range all {
		if !slices.Contains([]string{"FROM", "WORKDIR", "COPY", "RUN", "ARG", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD"}, in.name) {
			t.Errorf("the Dockerfile has the instruction %s %s", in.name, in.rest)
		}
		if in.name == "FROM" {
			stages++
			final, copied = map[string]string{}, nil
		}
		if in.name == "COPY" {
			copied = append(copied, in.rest)
		}
		final[in.name] = in.rest
	}
	if stages != 2 || final["FROM"] != "scratch" {
		t.Errorf("the image has %d stages and is made from %q, want 2 and scratch", stages, final["FROM"])
	}
	if final["RUN"] != "" {
		t.Errorf("the image runs %q, and has no shell", final["RUN"])
	}
	user := regexp.MustCompile(`^([1-9]\d*):([1-9]\d*)$`).FindString(final["USER"])
	if user == "" {
		t.Errorf("the image runs as %q, want numbers of a user and a group that are not root's", final["USER"])
	}
	const binary = "/usr/local/bin/posthouse"
	for name, want := range map[string]string{
		"ENTRYPOINT": `["` + binary + `"]`, "CMD": `["serve"]`, "VOLUME": "/data", "EXPOSE": "8095",
		"ENV": "PATH=/usr/local/bin POSTHOUSE_DATA_DIR=/data POSTHOUSE_ADDR=0.0.0.0:8095",
	} {
		if final[name] != want {
			t.Errorf("the image has %s %s, want %s", name, final[name], want)
		}
	}
	if !strings.HasSuffix(final["HEALTHCHECK"], `CMD ["`+binary+`", "health"]`) {
		t.Errorf("the health check is %q, want posthouse health", final["HEALTHCHECK"])
	}
	for _, want := range []string{
		"--from=build /image/posthouse " + binary, "--from=build --chown=" + user + " /image/data /data",
		"--from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt",
	} {
		if !slices.Contains(copied, want) {
			t.Errorf("the image lacks COPY %s; it has %q", want, copied)
		}
	}
	build := all[slices.IndexFunc(all, func(in instruction) bool { return strings.Contains(in.rest, " build -trimpath") })].rest
	for _, want := range []string{"CGO_ENABLED=0", "GOOS=$TARGETOS", "GOARCH=$TARGETARCH", "-trimpath", "main.version=$VERSION", "go -C release build"} {
		if !strings.Contains(build, want) {
			t.Errorf("the build lacks %s: %s", want, build)
		}
	}
	if !strings.Contains(all[0].rest, " golang:"+language(t)+"-") {
		t.Errorf("the image is built with %s, and go.mod asks for %s", all[0].rest, language(t))
	}
}

// TestImageLeavesNothingOut looks for what the build needs among what .dockerignore leaves out:
// packages of the binary, and files that they embed.
func TestImageLeavesNothingOut(t *testing.T) {
	var ignored []string
	for line := range strings.Lines(read(t, ".dockerignore")) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			ignored = append(ignored, line)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-C", filepath.Join(root, "release"), "-deps", "-f",
		`{{if not .Standard}}{{$dir := .ImportPath}}{{range .GoFiles}}{{$dir}}/{{.}} {{end}}{{range .EmbedFiles}}{{$dir}}/{{.}} {{end}}{{end}}`, ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := 0
	for _, file := range strings.Fields(string(out)) {
		file, ours := strings.CutPrefix(file, "github.com/posthouse/posthouse/")
		if !ours {
			continue
		}
		files++
		for _, pattern := range ignored {
			rest, anywhere := strings.CutPrefix(pattern, "**/")
			name, below := strings.CutPrefix(rest, "*")
			switch {
			case anywhere && below && strings.HasSuffix(file, name),
				anywhere && strings.Contains("/"+file, "/"+rest+"/"),
				!anywhere && strings.HasPrefix(file, strings.TrimPrefix(pattern, "/")+"/"):
				t.Errorf("the build needs %s, which .dockerignore leaves out as %s", file, pattern)
			}
		}
	}
	if files < 300 || len(ignored) < 5 {
		t.Errorf("the binary is made from %d files, and %q are left out", files, ignored)
	}
}

type compose struct {
	Name     string
	Services map[string]composed
	Networks map[string]struct{ Internal bool }
	Volumes  map[string]struct{}
	Secrets  map[string]struct{ File string }
}

// composed is a service of a composition.
type composed struct {
	Image       string
	Build       *struct{ Context string }
	Environment map[string]string
	Command     []string
	Secrets     []string
	Ports       []string
	Volumes     []string
	Networks    []string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck *struct {
		Test              []string
		Interval, Timeout string
		Retries           int
	}
	Restart     string
	StopGrace   string `yaml:"stop_grace_period"`
	ReadOnly    bool   `yaml:"read_only"`
	Tmpfs       []string
	CapDrop     []string `yaml:"cap_drop"`
	SecurityOpt []string `yaml:"security_opt"`
}

// TestCompose reads the composition: all names lead somewhere, data and secrets are not in
// containers or variables, and nothing is reached from another machine.
func TestCompose(t *testing.T) {
	c := parse[compose](t, "deploy/compose/compose.yaml")
	if len(c.Services) != 3 {
		t.Errorf("there are %d services, want posthouse, postgres and nats", len(c.Services))
	}
	for name, s := range c.Services {
		tag := regexp.MustCompile(`:[\w.-]+$`).FindString(s.Image)
		if tag == "" || tag == ":latest" && name != "posthouse" {
			t.Errorf("%s has the image %q, without a version", name, s.Image)
		}
		for _, v := range s.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, ok := c.Volumes[volume]; !ok {
				t.Errorf("%s mounts %s, which is no volume", name, v)
			}
		}
		if len(s.Volumes) == 0 {
			t.Errorf("%s keeps nothing", name)
		}
		for _, n := range s.Networks {
			if _, ok := c.Networks[n]; !ok {
				t.Errorf("%s is on the network %s, which there is not", name, n)
			}
		}
		for _, secret := range s.Secrets {
			if c.Secrets[secret].File == "" {
				t.Errorf("%s has the secret %s, which comes from no file", name, secret)
			}
		}
		for k, v := range s.Environment {
			if strings.Contains(k, "PASSWORD") && !strings.HasSuffix(k, "_FILE") || regexp.MustCompile(`://[^/@]*:[^/@]*@`).MatchString(v) {
				t.Errorf("%s has a password in the variable %s", name, k)
			}
			if secret, ok := strings.CutPrefix(v, "/run/secrets/"); ok && !slices.Contains(s.Secrets, secret) {
				t.Errorf("%s names the secret %s, which it is not given", name, secret)
			}
		}
		for other, on := range s.DependsOn {
			if c.Services[other].Healthcheck == nil || on.Condition != "service_healthy" {
				t.Errorf("%s waits for %s until it is %q, want service_healthy with a check", name, other, on.Condition)
			}
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s publishes %s to other machines", name, p)
			}
		}
		if s.Restart != "unless-stopped" {
			t.Errorf("%s is restarted %q", name, s.Restart)
		}
	}
	own := c.Services["posthouse"]
	if !own.ReadOnly || !slices.Equal(own.CapDrop, []string{"ALL"}) || !slices.Contains(own.SecurityOpt, "no-new-privileges:true") || own.StopGrace != "30s" {
		t.Errorf("posthouse is not confined, or is killed while it drains: %+v", own)
	}
	if !c.Networks["back"].Internal || slices.Contains(c.Services["nats"].Networks, "front") || len(c.Services["nats"].Ports) > 0 {
		t.Error("NATS has no password, and others reach it")
	}
}

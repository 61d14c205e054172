package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
)

// binary is the built posthouse, made once by TestMain.
var binary string

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		writer(dir, os.Getenv(hastyEnv) != "")
		return
	}
	if dir := os.Getenv(retainerEnv); dir != "" {
		fmt.Fprintln(os.Stderr, retainer(dir)) // it ends only by an error
		os.Exit(1)
	}
	dir, err := build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(pgtest.Main(m), goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// build makes the binary in a directory of its own.
func build() (dir string, err error) {
	dir, err = os.MkdirTemp("", "posthouse-e2e-")
	if err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "posthouse")
	cmd := exec.Command("go", "build", "-o", binary, "../../../cmd/posthouse")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("building posthouse: %w\n%s", err, out)
	}
	return dir, nil
}

// A house is a data directory, and the server on it while one runs.
type house struct {
	flags []string // more of dev
	t     *testing.T
	dir   string
	url   string
	token string
	cmd   *exec.Cmd
	log   *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newHouse(t *testing.T) *house {
	h := &house{t: t, dir: filepath.Join(t.TempDir(), "data"), log: &lockedBuffer{}}
	t.Cleanup(func() {
		if h.cmd != nil {
			h.kill()
		}
		if t.Failed() {
			t.Logf("the servers' standard error:\n%s", h.log)
		}
	})
	return h
}

// start runs posthouse dev, waits for the lines it prints when it is ready, and
// returns them.
func (h *house) start() (banner string) {
	h.t.Helper()
	cmd := exec.Command(binary, append([]string{"dev", "--addr", "127.0.0.1:0", "--data-dir", h.dir}, h.flags...)...)
	cmd.Env = environment()
	cmd.Stderr = h.log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.cmd = cmd
	tokenFile := ""
	for sc := bufio.NewScanner(out); !strings.Contains(banner, "\nnext: ") && sc.Scan(); {
		banner += sc.Text() + "\n"
		if url, ok := strings.CutPrefix(sc.Text(), "Page "); ok {
			h.url = strings.TrimSuffix(strings.TrimSpace(url), "/")
		}
		if path, ok := strings.CutPrefix(sc.Text(), "Token file "); ok {
			tokenFile = strings.TrimSpace(path)
		}
	}
	secret, err := os.ReadFile(tokenFile)
	if err != nil {
		h.t.Fatalf("posthouse dev did not say where its token is: %v\n%s", err, banner)
	}
	h.token = strings.TrimSpace(string(secret))
	return banner
}

// kill ends the server as a crash would.
func (h *house) kill() {
	h.t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		h.t.Error(err)
	}
	_ = h.cmd.Wait() // says that it was killed
	h.cmd = nil
}

// stop asks the server to end and returns its exit code.
func (h *house) stop() int {
	h.t.Helper()
	if err := h.cmd.Process.Signal(os.Interrupt); err != nil {
		h.t.Error(err)
	}
	_ = h.cmd.Wait() // the exit code says it
	code := h.cmd.ProcessState.ExitCode()
	h.cmd = nil
	return code
}

// environment is ours without what could change how posthouse behaves.
func environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "POSTHOUSE_") {
			env = append(env, kv)
		}
	}
	return append(env, "NO_COLOR=1")
}

// An outcome is what one command said.
type outcome struct {
	code        int
	out, errOut string
}

// run runs a command against the house.
func (h *house) run(args ...string) outcome {
	h.t.Helper()
	return h.runIn(context.Background(), args...)
}

func (h *house) runIn(ctx context.Context, args ...string) outcome {
	h.t.Helper()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(environment(), "POSTHOUSE_SERVER="+h.url, "POSTHOUSE_DATA_DIR="+h.dir)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Errorf("posthouse %s: %v", strings.Join(args, " "), err)
	}
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

// must runs a command that has to succeed.
func (h *house) must(args ...string) string {
	h.t.Helper()
	o := h.run(args...)
	if o.code != 0 {
		h.t.Fatalf("posthouse %s: exit code %d\n%s%s", strings.Join(args, " "), o.code, o.out, o.errOut)
	}
	return o.out
}

// decode runs a command with --json and reads its answer.
func (h *house) decode(v any, args ...string) {
	h.t.Helper()
	out := h.must(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		h.t.Fatalf("posthouse %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// call sends a request and returns its status, with the answer in v.
func (h *house) call(method, path, body string, v any) int {
	h.t.Helper()
	req, err := http.NewRequest(method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Errorf("%s %s: %v", method, path, err)
		return 0
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Errorf("%s %s: %v", method, path, err)
		return 0
	}
	if v != nil {
		if err := json.Unmarshal(data, v); err != nil {
			h.t.Errorf("%s %s: %v\n%s", method, path, err, data)
		}
	}
	return resp.StatusCode
}

// effects returns the lines of the effects log that hold a text.
func (h *house) effects(text string) (lines []string) {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, "effects.log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, text) {
			lines = append(lines, line)
		}
	}
	return lines
}

//go:build unix

package shared

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/all"
)

// A house is a store that several processes share, and what the test knows of them.
type house struct {
	*testing.T
	ctx     context.Context // ends when a test hangs
	url     string          // of the store
	led     *ledger.Ledger
	control net.Listener
	reports chan report
	client  http.Client
}

// newHouse opens the store at url in this process as well, to look at it.
func newHouse(t *testing.T, url string) *house {
	t.Helper()
	h := &house{T: t, url: url, reports: make(chan report, 100)}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	h.ctx = ctx
	h.client.Transport = &http.Transport{DisableKeepAlives: true}
	store, err := all.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.led, err = ledger.Open(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.control, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { h.listen(&wg) })
	t.Cleanup(func() {
		cancel()
		for _, c := range []io.Closer{h.control, h.led, store} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		wg.Wait()
		close(h.reports)
		for r := range h.reports {
			r.conn.Close()
		}
	})
	return h
}

// listen takes the reports of processes until the control is closed.
func (h *house) listen(wg *sync.WaitGroup) {
	for {
		conn, err := h.control.Accept()
		if err != nil {
			return
		}
		wg.Go(func() {
			r := report{conn: conn}
			if err := json.NewDecoder(conn).Decode(&r); err == nil {
				h.reports <- r
			}
		})
	}
}

// next returns the next report, which has to be of this kind.
func (h *house) next(begins bool, step string) report {
	h.Helper()
	select {
	case r := <-h.reports:
		if r.Begins != begins || r.Step != step {
			h.Fatalf("process %s reports %+v, want step %s, begins: %v", r.Process, r, step, begins)
		}
		return r
	case <-h.ctx.Done():
		h.Fatal("no report of step " + step)
	}
	return report{}
}

// goOn lets a step end.
func (h *house) goOn(r report) {
	h.Helper()
	if _, err := r.conn.Write([]byte{'\n'}); err != nil {
		h.Error(err)
	}
	r.conn.Close()
}

// A process is one on the store.
type process struct {
	h     *house
	name  string
	dir   string
	url   string // of its server
	token string
	cmd   *exec.Cmd
	stdin io.Closer
	log   *bytes.Buffer
}

// start starts a process that reaches the store at url, and runs programs or does not.
func (h *house) start(name, url string, programs bool) *process {
	h.Helper()
	p := &process{h: h, name: name, dir: filepath.Join(h.TempDir(), name)}
	c := config{Name: name, Store: url, Dir: p.dir}
	if programs {
		c.Control = h.control.Addr().String()
	}
	text, err := json.Marshal(c)
	if err != nil {
		h.Fatal(err)
	}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	p.log = &bytes.Buffer{}
	p.cmd.Stderr = p.log
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		h.Fatal(err)
	}
	p.stdin = stdin
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		p.kill()
		if h.Failed() {
			h.Logf("process %s said:\n%s", name, p.log.String())
		}
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	var tokenFile string
	if _, err := fmt.Sscan(line, &p.url, &tokenFile); err != nil {
		h.Fatalf("process %s is not ready: %q", name, line)
	}
	secret, err := os.ReadFile(tokenFile)
	if err != nil {
		h.Fatal(err)
	}
	p.token = strings.TrimSpace(string(secret))
	return p
}

// kill ends the process as a crash does. A second kill does nothing.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // says that it was killed
		_ = p.stdin.Close()
	}
}

func (p *process) signal(s syscall.Signal) {
	p.h.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.h.Fatal(err)
	}
}

// request sends a request to the process.
func (p *process) request(ctx context.Context, method, path, body string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return p.h.client.Do(req)
}

// call sends a request and returns its status and answer, 0 and the error if no answer
// came.
func (p *process) call(method, path, body string) (int, string) {
	resp, err := p.request(p.h.ctx, method, path, body)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(data)
}

// begin has the process begin a run of the walk, as a request of a client that may never
// get an answer.
func (p *process) begin(thread string) {
	p.h.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		resp, err := p.request(ctx, http.MethodPost, "/api/agents/walk", fmt.Sprintf(`{"message":"go","thread":%q}`, thread))
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	})
	p.h.Cleanup(func() { cancel(); wg.Wait() })
}

// follow has the process stream the events of a thread. The channel gets the kind of each.
func (p *process) follow(thread string) <-chan string {
	p.h.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := p.request(ctx, http.MethodGet, "/api/events?after=start&thread="+thread, "")
	if err != nil || resp.StatusCode != http.StatusOK {
		cancel()
		p.h.Fatal(err, resp)
	}
	kinds := make(chan string, 1000)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer resp.Body.Close()
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				kinds <- kind
			}
		}
	})
	p.h.Cleanup(func() { cancel(); wg.Wait() })
	return kinds
}

// await waits for an event of a kind.
func (h *house) await(kinds <-chan string, kind string) {
	h.Helper()
	for {
		select {
		case k := <-kinds:
			if k == kind {
				return
			}
		case <-h.ctx.Done():
			h.Fatal("no event " + kind)
		}
	}
}

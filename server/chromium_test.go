package server

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// errNoBrowser reports that no Chromium is installed.
var errNoBrowser = errors.New("no Chromium is installed: apt-get install chromium, or name one in POSTHOUSE_CHROMIUM")

// findBrowser returns the path of a Chromium: POSTHOUSE_CHROMIUM, or the first of the
// usual names in PATH. If there is no Chromium it fails with [errNoBrowser].
func findBrowser() (string, error) {
	for _, name := range []string{os.Getenv("POSTHOUSE_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, nil
		}
	}
	return "", errNoBrowser
}

// A browser is a running Chromium, so that tests see the pages as people do:
// their scripts run, under the policy that the server sends.
type browser struct {
	cmd     *exec.Cmd
	profile string
	wire    *devtools
	ended   chan struct{} // closed when the process is gone
}

// startBrowser starts the Chromium at path with an empty profile. [browser.Close] ends
// it and removes the profile.
func startBrowser(ctx context.Context, path string) (b *browser, err error) {
	profile, err := os.MkdirTemp("", "posthouse-browser-")
	if err != nil {
		return nil, err
	}
	started := &browser{profile: profile, ended: make(chan struct{}), cmd: exec.Command(path, "--headless=new", "--window-size=1280,900", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-extensions", "--disable-background-networking", "--user-data-dir="+profile, "--remote-debugging-port=0", "about:blank")}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s does not start: %w", path, cmp.Or(err, started.Close()))
		}
	}()
	said, err := started.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := started.cmd.Start(); err != nil {
		started.cmd.Process = nil
		return nil, err
	}
	out := bufio.NewReader(said)
	address, err := devtoolsAddress(out)
	go started.reap(out)
	if err != nil {
		return nil, err
	}
	conn, _, err := websocket.Dial(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	started.wire = newDevtools(conn)
	return started, nil
}

// devtoolsAddress reads what Chromium says up to the address of its DevTools.
func devtoolsAddress(said *bufio.Reader) (string, error) {
	var all strings.Builder
	for {
		line, err := said.ReadString('\n')
		if _, address, ok := strings.Cut(line, "DevTools listening on "); ok {
			return strings.TrimSpace(address), nil
		}
		all.WriteString(line)
		if err != nil {
			return "", fmt.Errorf("chromium ended before it listened: %s", all.String())
		}
	}
}

// reap reads what else Chromium says, so that it never waits for a reader, and
// then waits for its end.
func (b *browser) reap(said io.Reader) {
	_, _ = io.Copy(io.Discard, said) // ends with the process and its children
	_ = b.cmd.Wait()                 // how it ended is no matter
	close(b.ended)
}

// browserPatience is how long a browser may take to end before it is killed.
const browserPatience = 10 * time.Second

// Close ends the browser and removes its profile.
func (b *browser) Close() error {
	if b.cmd.Process != nil {
		ctx, cancel := context.WithTimeout(context.Background(), browserPatience)
		defer cancel()
		if b.wire == nil || b.wire.call(ctx, "", "Browser.close", nil, nil) != nil {
			_ = b.cmd.Process.Kill() // it may have ended by itself
		}
		select {
		case <-b.ended:
		case <-ctx.Done():
			_ = b.cmd.Process.Kill() // the same
			<-b.ended
		}
	}
	if b.wire != nil {
		b.wire.close()
	}
	return os.RemoveAll(b.profile)
}

// A browserPage is an open tab.
type browserPage struct {
	wire    *devtools
	session string
}

// Open loads a page in a tab of its own, with the cookies set for it.
func (b *browser) Open(ctx context.Context, url string, cookies ...*http.Cookie) (*browserPage, error) {
	var target struct{ TargetID string }
	if err := b.wire.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var attached struct{ SessionID string }
	if err := b.wire.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	p := &browserPage{b.wire, attached.SessionID}
	for _, c := range cookies {
		if err := p.call(ctx, "Network.setCookie", map[string]any{"name": c.Name, "value": c.Value, "url": url, "httpOnly": true}, nil); err != nil {
			return nil, err
		}
	}
	var went struct{ ErrorText string }
	if err := p.call(ctx, "Page.navigate", map[string]any{"url": url}, &went); err != nil {
		return nil, err
	}
	if went.ErrorText != "" {
		return nil, errors.New(url + ": " + went.ErrorText)
	}
	return p, nil
}

func (p *browserPage) call(ctx context.Context, method string, params, result any) error {
	return p.wire.call(ctx, p.session, method, params, result)
}

// Eval runs a JavaScript expression in the page, awaits it if it is a promise,
// and reads its value into v, if that is not nil. The value goes through JSON:
// take numbers that must be exact as text.
func (p *browserPage) Eval(ctx context.Context, expression string, v any) error {
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description, Value string }
		}
	}
	err := p.call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &out)
	if err != nil {
		return err
	}
	if e := out.ExceptionDetails; e != nil {
		return errors.New("in the page: " + e.Text + " " + e.Exception.Description + e.Exception.Value + "\n" + expression[:min(len(expression), 500)])
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(out.Result.Value, v)
}

// Wait looks at an expression every 10 milliseconds until it is true.
func (p *browserPage) Wait(ctx context.Context, expression string) error {
	return p.Eval(ctx, `new Promise((done) => {
		const look = () => ((`+expression+`) ? done(true) : setTimeout(look, 10));
		look();
	})`, nil)
}

// maxDevtools bounds one message of the browser, in bytes.
const maxDevtools = 64 << 20

// A devtools connection carries calls to the browser and their answers. Events are dropped.
type devtools struct {
	conn *websocket.Conn
	done chan struct{} // closed when nothing is read any more

	mu      sync.Mutex
	last    int
	waiting map[int]chan browserAnswer
}

type browserAnswer struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

func newDevtools(conn *websocket.Conn) *devtools {
	w := &devtools{conn: conn, done: make(chan struct{}), waiting: map[int]chan browserAnswer{}}
	conn.SetReadLimit(maxDevtools)
	go w.read()
	return w
}

func (w *devtools) read() {
	defer close(w.done)
	for {
		_, data, err := w.conn.Read(context.Background())
		if err != nil {
			return
		}
		var m struct {
			ID int
			browserAnswer
		}
		if json.Unmarshal(data, &m) != nil {
			return
		}
		w.mu.Lock()
		to := w.waiting[m.ID]
		delete(w.waiting, m.ID)
		w.mu.Unlock()
		if to != nil {
			to <- m.browserAnswer
		}
	}
}

// call sends a method of the protocol to a session, "" for the browser itself,
// and reads what it answers into result, if that is not nil.
func (w *devtools) call(ctx context.Context, session, method string, params, result any) error {
	to := make(chan browserAnswer, 1)
	w.mu.Lock()
	w.last++
	id := w.last
	w.waiting[id] = to
	w.mu.Unlock()
	message := map[string]any{"id": id, "method": method, "params": params}
	if session != "" {
		message["sessionId"] = session
	}
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if err := w.conn.Write(ctx, websocket.MessageText, data); err != nil {
		return err
	}
	select {
	case a := <-to:
		switch {
		case a.Error != nil:
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(a.Result, result)
	case <-w.done:
		return errors.New("the browser is gone")
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *devtools) close() {
	_ = w.conn.CloseNow() // nothing more is asked of it
	<-w.done
}

package browser

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// ErrAbsent reports that no Chromium is installed.
var ErrAbsent = errors.New("no Chromium is installed: apt-get install chromium, or name one in POSTHOUSE_CHROMIUM")

// Find returns the path of a Chromium: POSTHOUSE_CHROMIUM, or the first of the
// usual names in PATH. Without one it fails with [ErrAbsent].
func Find() (string, error) {
	for _, name := range []string{os.Getenv("POSTHOUSE_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path, nil
		}
	}
	return "", ErrAbsent
}

// A Browser is a running Chromium.
type Browser struct {
	cmd     *exec.Cmd
	profile string
	wire    *wire
	ended   chan struct{} // closed when the process is gone
}

// Start starts the Chromium at path with an empty profile. [Browser.Close] ends
// it and removes the profile.
func Start(ctx context.Context, path string) (b *Browser, err error) {
	profile, err := os.MkdirTemp("", "posthouse-browser-")
	if err != nil {
		return nil, err
	}
	b = &Browser{profile: profile, ended: make(chan struct{}), cmd: exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-extensions", "--disable-background-networking", "--user-data-dir="+profile, "--remote-debugging-port=0", "about:blank")}
	defer func() {
		if err != nil {
			err = cmp.Or(err, b.Close())
		}
	}()
	said, err := b.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	out := bufio.NewReader(said)
	address, err := listening(out)
	go b.reap(out)
	if err != nil {
		return nil, err
	}
	conn, _, err := websocket.Dial(ctx, address, nil) //nolint:bodyclose // a WebSocket's answer has none
	if err != nil {
		return nil, err
	}
	b.wire = newWire(conn)
	return b, nil
}

// listening reads what Chromium says up to the address of its DevTools.
func listening(said *bufio.Reader) (string, error) {
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
func (b *Browser) reap(said io.Reader) {
	_, _ = io.Copy(io.Discard, said) // ends with the process and its children
	_ = b.cmd.Wait()                 // how it ended is no matter
	close(b.ended)
}

// patience is how long a browser may take to end before it is killed.
const patience = 10 * time.Second

// Close ends the browser and removes its profile.
func (b *Browser) Close() error {
	if b.cmd.Process != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
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

package chaos

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
)

// A process is an engine or a worker. It is started again when it is killed.
type process struct {
	order order

	mu    sync.Mutex
	cmd   *exec.Cmd
	stdin io.Closer
}

func (p *process) start() error {
	text, err := json.Marshal(&p.order)
	if err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(own)
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.stdin = cmd, stdin
	return nil
}

// kill ends the process as a crash does.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // says that it was killed
	_ = p.stdin.Close()
	p.cmd = nil
}

func (p *process) signal(s os.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Signal(s)
}

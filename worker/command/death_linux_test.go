package command_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// TestWorkerIsKilled: a program does not outlive its worker, when the worker can be asked
// nothing any more.
func TestWorkerIsKilled(t *testing.T) {
	w := exec.Command(os.Args[0])
	w.Env = append(os.Environ(), "PROGRAM=worker")
	out, err := w.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	if err := json.Unmarshal(line, &pids); err != nil {
		t.Fatal(err)
	}
	if err := w.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = w.Wait() // killed
	isGone(t, pids[0])
	child, err := os.FindProcess(pids[1]) // which is in the program's group, and an orphan now
	if err != nil || child.Kill() != nil {
		t.Error(err)
	}
}

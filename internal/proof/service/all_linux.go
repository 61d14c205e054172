package service

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// KillAll ends the server and every process that it has started at once with SIGKILL, as a
// lost machine does, and returns when all are gone.
func (p *Process) KillAll() {
	if p.cmd == nil || p.cmd.Process == nil {
		return
	}
	main := p.PID()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	_ = syscall.Kill(main, syscall.SIGSTOP) // so that it starts no other
	for !isStopped(main) {                  // it may be starting one in this moment
		<-tick.C
	}
	others := children(main)
	for _, pid := range others {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = p.cmd.Process.Kill()
	<-p.ended
	for _, pid := range others { // they hold files and shared memory until they are gone
		for !isGone(pid) {
			<-tick.C
		}
	}
}

// isStopped reports whether a process has stopped, or ended.
func isStopped(pid int) bool {
	_, fields := stat(pid)
	return len(fields) == 0 || fields[0] == "T" || isGone(pid)
}

// isGone reports whether a process has ended, even if it was not waited for.
func isGone(pid int) bool {
	_, fields := stat(pid)
	return len(fields) == 0 || fields[0] == "Z" || fields[0] == "X"
}

// children returns the processes that a process has started.
func children(parent int) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		if of, _ := stat(pid); of == parent {
			pids = append(pids, pid)
		}
	}
	return pids
}

// stat returns a process's parent and what the system says of it from its state on;
// nothing if it has ended.
func stat(pid int) (parent int, fields []string) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, nil
	}
	i := strings.LastIndex(string(text), ") ") // the name before it may have anything
	fields = strings.Fields(string(text)[i+1:])
	if len(fields) < 2 {
		return 0, nil
	}
	parent, _ = strconv.Atoi(fields[1])
	return parent, fields
}

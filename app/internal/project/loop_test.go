package project

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// role is the variable that has this binary be a program of the tests.
const role = "PROJECT_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "loop":
		beLoop()
	case "program":
		beProgram()
	default:
		os.Exit(m.Run())
	}
}

// beLoop starts the binary of its first argument and waits until it is killed.
func beLoop() {
	_ = os.Setenv(role, "program")
	l := Loop{Dir: filepath.Dir(os.Args[1]), Out: os.Stdout, Err: os.Stderr}
	if err := l.start(context.Background(), os.Args[1]); err != nil {
		panic(err)
	}
	<-l.running.ended
}

// beProgram has the command dev where its working directory has a file of that name, and serves until it is
// asked to end.
func beProgram() {
	if os.Args[1] == "help" {
		if _, err := os.Stat("dev"); err != nil {
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(Tie(context.Background()), os.Interrupt)
	defer stop()
	fmt.Println(os.Getpid(), len(os.Getenv(tied)), strings.Join(os.Args[1:], " "))
	<-ctx.Done()
}

// linked returns a link to this binary, which a loop may remove.
func linked(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "program-1")
	if err := os.Symlink(self, at); err != nil {
		t.Fatal(err)
	}
	return at
}

// TestProgramEndsWithItsLoop: a loop that is killed leaves no program running, which would keep its port and
// its store.
func TestProgramEndsWithItsLoop(t *testing.T) {
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	loop := exec.Command(linked(t))
	loop.Args = append(loop.Args, loop.Path)
	loop.Env, loop.Stdout, loop.Stderr = append(os.Environ(), role+"=loop"), in, os.Stderr
	err = errors.Join(loop.Start(), in.Close())
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	var pid, left int
	if _, e := fmt.Sscan(line, &pid, &left); err != nil || e != nil || left != 0 {
		t.Fatalf("the program says %q, %v, %v", line, err, e)
	}
	if err := loop.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = loop.Wait()                                       // it was killed
	_ = out.SetReadDeadline(time.Now().Add(time.Minute))  // it is a pipe
	if _, err := io.Copy(io.Discard, lines); err != nil { // it ends when the other end is closed
		t.Errorf("the program goes on: %v", err)
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
}

// TestBinaryIsAskedInItsModuleAndRemoved: the program has its working directory from the first question on,
// and its binary goes when it has ended.
func TestBinaryIsAskedInItsModuleAndRemoved(t *testing.T) {
	t.Setenv(role, "program")
	for _, has := range []string{"dev", "serve"} {
		binary := linked(t)
		l := Loop{Dir: t.TempDir(), Err: os.Stderr}
		mustWrite(t, filepath.Join(l.Dir, has), "")
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		l.Out = in
		if err := l.start(context.Background(), binary); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || !strings.Contains(line, " "+has) {
			t.Errorf("with %s it is started as %q, %v", has, line, err)
		}
		if err := errors.Join(l.stop(), out.Close(), in.Close()); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(binary); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the binary of a program that has ended is there: %v", err)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	l := Loop{Dir: t.TempDir()}
	if err := l.start(ended, linked(t)); err != nil || l.running != nil {
		t.Errorf("after the end it starts %+v, %v", l.running, err)
	}
}

// TestNothingHasChangedAfterTheFirstBuild: files that a module embeds are known before it is built.
func TestNothingHasChangedAfterTheFirstBuild(t *testing.T) {
	l := Loop{Dir: t.TempDir(), Err: os.Stderr, work: t.TempDir()}
	mustWrite(t, filepath.Join(l.Dir, "go.mod"), "module x\n\ngo 1.24\n")
	mustWrite(t, filepath.Join(l.Dir, "main.go"), "package main\n\nimport _ \"embed\"\n\n//go:embed page.html\nvar page string\n\nfunc main() { print(page) }\n")
	mustWrite(t, filepath.Join(l.Dir, "page.html"), "1")
	ctx := context.Background()
	seen := l.look(ctx)
	if _, err := l.build(ctx); err != nil {
		t.Fatal(err)
	}
	if now := look(l.Dir, l.embeds); !now.equal(seen) {
		t.Errorf("it was %v and is %v", seen, now)
	}
	mustWrite(t, filepath.Join(l.Dir, "page.html"), "more than before")
	if look(l.Dir, l.embeds).equal(seen) {
		t.Error("a change of a file that is embedded is not seen")
	}
}

// TestLoopFollowsALink: the working directory may be a link, below which no file would be looked at.
func TestLoopFollowsALink(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	mustWrite(t, filepath.Join(dir, "go.mod"), "module x\n")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l := Loop{Dir: link, Err: io.Discard, Say: t.Logf}
	if err := l.Run(ctx); err != nil || len(look(l.Dir, nil)) != 1 {
		t.Errorf("below %s it sees %v, %v", l.Dir, look(l.Dir, nil), err)
	}
	if s := look(filepath.Join(dir, "gone"), nil); len(s) != 0 {
		t.Errorf("a directory that is gone has %v", s)
	}
}

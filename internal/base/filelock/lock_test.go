package filelock_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/posthouse/posthouse/internal/base/filelock"
)

// The test binary started with childEnv set takes the lock of that name and
// keeps it until it is killed.
const childEnv = "FILELOCK_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		if _, err := filelock.Take(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("has it")
		select {}
	}
	os.Exit(m.Run())
}

func take(t *testing.T, path string) *filelock.Lock {
	t.Helper()
	f, err := filelock.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOneHasIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	f := take(t, path)
	for range 2 { // asking in vain takes nothing away
		if g, err := filelock.Take(path); !errors.Is(err, filelock.ErrHeld) {
			t.Fatal(g, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := take(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Take(filepath.Join(path, "y")); err == nil || errors.Is(err, filelock.ErrHeld) {
		t.Error("below a file:", err)
	}
}

// TestKilledHolder: whoever is killed with the lock in its hand has given it
// back, though the file stays.
func TestKilledHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if sc := bufio.NewScanner(out); !sc.Scan() || sc.Text() != "has it" {
		t.Fatal("the other process says", sc.Text())
	}
	if _, err := filelock.Take(path); !errors.Is(err, filelock.ErrHeld) {
		t.Fatal("while another process has it:", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	if err := take(t, path).Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBeside: a file that is there is locked without being kept from anybody.
func TestBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if f, err := filelock.TakeBeside(path); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(f, err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := filelock.TakeBeside(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("y"), 0o600); err != nil {
		t.Error("it cannot be written:", err)
	}
	if f == nil {
		return // Windows
	}
	if g, err := filelock.TakeBeside(path); !errors.Is(err, filelock.ErrHeld) {
		t.Error(g, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f, err = filelock.TakeBeside(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}

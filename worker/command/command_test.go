//go:build unix

package command_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/worker"
	"github.com/posthouse/posthouse/worker/command"
	"github.com/posthouse/posthouse/worker/workertest"
)

// A telling task says when the program has streamed something.
type telling struct {
	*workertest.Task
	streamed chan json.RawMessage
	save     func(*workertest.Task, []byte) error
}

func tell(t *workertest.Task) *telling {
	return &telling{t, make(chan json.RawMessage, 1), (*workertest.Task).Checkpoint}
}

func (t *telling) Stream(chunk any) error {
	err := t.Task.Stream(chunk)
	t.streamed <- chunk.(json.RawMessage)
	return err
}

func (t *telling) Checkpoint(state []byte) error { return t.save(t.Task, state) }

// TestVerdicts: what a program prints, and how it ends, is its verdict.
func TestVerdicts(t *testing.T) {
	for name, want := range map[string]task.Verdict{
		"fail":                     {Action: task.Fail, Reason: "no luck"},
		"permanent":                {Action: task.FailPermanent, Reason: "never"},
		"retry":                    {Action: task.RetryAfter, Reason: "busy", Delay: 2 * time.Second},
		"pause":                    {Action: task.Pause, Name: "nap", Delay: time.Second},
		"continue":                 {Action: task.Continue, Output: json.RawMessage("1")},
		"no newline":               {Action: task.Complete, Output: json.RawMessage("5")},
		"crash behind the verdict": {Action: task.Complete, Output: json.RawMessage("1")},
		"talks much":               {Action: task.Complete, Output: json.RawMessage("null")},
		"plain double":             {Action: task.Complete, Output: json.RawMessage("42")},
		"plain silent":             {Action: task.Complete, Output: json.RawMessage("null")},
	} {
		t.Run(name, func(t *testing.T) {
			task := workertest.NewTask(21)
			if err := program(t, name, command.Options{Plain: strings.HasPrefix(name, "plain")}).Handle(task); err != nil {
				t.Fatal(err)
			}
			v := task.Verdict()
			if v == nil || v.Action != want.Action || v.Reason != want.Reason || v.Delay != want.Delay || v.Name != want.Name || string(v.Output) != string(want.Output) {
				t.Errorf("%+v", v)
			}
		})
	}
}

// TestOutcomes: under a grant a program that gave no verdict leaves open whether it acted. Only a
// verdict with notDone, and an exit code for that, say that it did not.
func TestOutcomes(t *testing.T) {
	for name, unknown := range map[string]bool{
		"unknown": true, "no verdict": true, "bad verdict": true, "exit code": true, "killed": true, "garbage": true, "plain fail": true, "plain garbage": true,
		"fail": false, "permanent": false, "retry": false, "not done": false, "plain not done": false,
	} {
		for _, grant := range []posthouse.ID{"", "gate-1"} {
			t.Run(name+" under "+string(grant), func(t *testing.T) {
				tk := workertest.NewTask(21)
				tk.Claim.Grant = grant
				if err := program(t, name, command.Options{Plain: strings.HasPrefix(name, "plain")}).Handle(tk); err != nil {
					_ = tk.Fail(err) // as the worker does
				}
				v := tk.Verdict()
				if v == nil || (v.Action == task.Unknown) != (unknown && grant != "") || v.NotDone != (strings.HasSuffix(name, "not done") && grant != "") {
					t.Errorf("%+v", v)
				}
			})
		}
	}
}

// TestFailures: whatever is not a verdict fails the attempt, with a reason that helps.
func TestFailures(t *testing.T) {
	for name, want := range map[string][]string{
		"garbage":         {`line 1, is "Loading model..."`, "print everything else to standard error"},
		"unknown request": {"none of action, save, stream, signal, step, record, ask, wait, act, acted and note"},
		"two requests":    {"save goes with nothing else"},
		"huge line":       {"a line of more than 1064960 bytes"},
		"no verdict":      {"ended without a verdict"},
		"bad verdict":     {"ended without a verdict", "reason is required to fail"},
		"interrupt":       {"interrupt is the worker's to give"},
		"exit code":       {"exit status 3", "Out of memory"},
		"killed":          {"signal: killed"},
		"deaf":            {"answers that it did not read"},
		"plain fail":      {"exit status 1", "no such row"},
		"plain garbage":   {`not one JSON value: "done!"`},
		"plain huge":      {"more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			task := workertest.NewTask(21)
			err := program(t, name, command.Options{Plain: strings.HasPrefix(name, "plain")}).Handle(task)
			if err == nil || task.Verdict() != nil {
				t.Fatalf("error %v, task.Verdict() %v", err, task.Verdict())
			}
			for _, part := range want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%v\nlacks %q", err, part)
				}
			}
			if len(err.Error()) > 3000 {
				t.Errorf("the reason has %d bytes", len(err.Error()))
			}
		})
	}
	err := program(t, "huge line", command.Options{}).Handle(workertest.NewTask(1))
	if !errors.Is(err, posthouse.ErrTooLarge) {
		t.Error(err)
	}
}

// TestAnswers: every request has an answer, in order, which says what was done.
func TestAnswers(t *testing.T) {
	var log bytes.Buffer
	task := workertest.NewTask(1)
	if err := program(t, "answers", command.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Handle(task); err != nil {
		t.Fatal(err)
	}
	if v := task.Verdict(); string(v.Output) != `"first"` {
		t.Errorf("%+v", v)
	}
	if s := task.Checkpoints(); len(s) != 1 || string(s[0]) != `{"row":1}` {
		t.Errorf("%q", s)
	}
	if c := task.Thread().Chunks(); len(c) != 1 || string(c[0]) != `"half"` {
		t.Errorf("%s", c)
	}
	if s := task.Thread().Sent(); len(s) != 1 || s[0].Thread != "other" || s[0].Name != "paid" || string(s[0].Value) != "7" {
		t.Errorf("%+v", s)
	}
	said := log.String()
	for _, want := range []string{
		`stderr: {\"ok\":true}`, `{\"error\":{\"code\":\"too-large\",\"field\":\"slot\",\"message\":\"has 1048578 bytes`,
		`{\"error\":{\"code\":\"invalid\",\"field\":\"signal\"`, `{\"error\":{\"code\":\"invalid\",\"field\":\"name\"`,
		`{\"error\":{\"code\":\"conflict\",\"message\":\"worker: this execution has a verdict already\"}}`,
		`{\"error\":{\"code\":\"conflict\",\"message\":\"the execution has its verdict\"}}`, "thread=thread attempt=1",
	} {
		at := strings.Index(said, want)
		if at < 0 {
			t.Errorf("%s\nlacks, in this order, %s", log.String(), want)
		}
		said = said[max(at, 0):]
	}
}

// TestFirstLine: the program reads all that an execution is.
func TestFirstLine(t *testing.T) {
	in := workertest.NewTask(map[string]int{"width": 64})
	in.Claim.Attempt, in.Claim.Iteration, in.Claim.Continued = 3, 2, json.RawMessage(`"go on"`)
	in.Claim.Failure, in.Claim.Trace = "it broke", map[string]string{"traceparent": "00-1"}
	if err := in.Checkpoint([]byte(`{"row":73}`)); err != nil {
		t.Fatal(err)
	}
	if err := program(t, "complete", command.Options{}).Handle(in); err != nil {
		t.Fatal(err)
	}
	want := `{"task":"task","thread":"thread","step":"1/step","key":"gate-1","attempt":3,"iteration":2,"input":{"width":64},` +
		`"continued":"go on","failure":"it broke","checkpoint":{"row":73},"trace":{"traceparent":"00-1"}}`
	if have := string(in.Verdict().Output); have != want {
		t.Error(have)
	}
	in = workertest.NewTask(1)
	if err := in.Checkpoint([]byte("\x00gob")); err != nil {
		t.Fatal(err)
	}
	if err := program(t, "complete", command.Options{}).Handle(in); !errors.Is(err, posthouse.ErrInvalid) || !strings.Contains(err.Error(), "checkpoint is not JSON") {
		t.Error(err)
	}
}

// TestEnvironment: a program has the worker's variables without its secrets.
func TestEnvironment(t *testing.T) {
	t.Setenv("POSTHOUSE_TOKEN", "ph_secret")
	t.Setenv("OTHER", "kept")
	in, dir := workertest.NewTask(1), t.TempDir()
	if err := program(t, "environment", command.Options{Dir: dir}).Handle(in); err != nil {
		t.Fatal(err)
	}
	var have []string
	if err := json.Unmarshal(in.Verdict().Output, &have); err != nil {
		t.Fatal(err)
	}
	where := have[len(have)-1]
	have = have[:len(have)-1]
	slices.Sort(have)
	want := []string{"OTHER=kept", "POSTHOUSE_TASK_ATTEMPT=1", "POSTHOUSE_TASK_ITERATION=0", "POSTHOUSE_TASK_KEY=gate-1", "POSTHOUSE_TASK_NAME=task", "POSTHOUSE_TASK_STEP=1/step", "POSTHOUSE_TASK_THREAD=thread"}
	if !slices.Equal(have, want) {
		t.Errorf("got %q", have)
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || where != real {
		t.Errorf("it ran in %s, not %s", where, real)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, argv := range map[string][]string{"nothing": nil, "no name": {"", "x"}, "an unknown program": {"posthouse-has-no-such-program"}, "a directory": {t.TempDir()}} {
		if _, err := command.New(argv, nil); !errors.Is(err, posthouse.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := command.New([]string{"sh"}, &command.Options{DrainTimeout: -1}); !errors.Is(err, posthouse.ErrInvalid) {
		t.Error(err)
	}
	p, err := command.New([]string{"sh", "-c", "exit"}, &command.Options{Dir: filepath.Join(t.TempDir(), "gone")})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Handle(workertest.NewTask(1)); err == nil || !strings.Contains(err.Error(), "cannot be started") {
		t.Error(err)
	}
}

// isGone waits until a process has ended.
func isGone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 20_000 {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) || isZombie(pid) {
			return
		}
		<-tick.C
	}
	t.Errorf("process %d goes on", pid)
}

// isZombie reports whether a process has ended but was not waited for: the system's
// first process may be slow to ask, or never do it in a container.
func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // on Linux
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

// TestLostTask: a program that heeds nothing is killed, with what it has started.
func TestLostTask(t *testing.T) {
	for _, plain := range []bool{false, true} {
		name := "stubborn"
		if plain {
			name = "plain stubborn"
		}
		in := tell(workertest.NewTask(1))
		p := program(t, name, command.Options{DrainTimeout: 10 * time.Millisecond, Plain: plain})
		ended := make(chan error)
		go func() { ended <- p.Handle(in) }()
		var pids []int
		if !plain {
			if err := json.Unmarshal(<-in.streamed, &pids); err != nil {
				t.Fatal(err)
			}
		}
		in.Lose()
		if err := <-ended; !errors.Is(err, worker.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
		for _, pid := range pids {
			isGone(t, pid)
		}
	}
}

// TestKill: all processes of a program are killed at once, whatever the grace.
func TestKill(t *testing.T) {
	p := program(t, "stubborn", command.Options{DrainTimeout: time.Hour})
	ended := make(chan error)
	for range 3 {
		in := tell(workertest.NewTask(1))
		go func() { ended <- p.Handle(in) }()
		<-in.streamed
	}
	p.Kill()
	for range 3 {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "signal: killed") {
			t.Error(err)
		}
	}
}

// TestProcessesOfAnEndedProgramAreKilled: processes that a program leaves in its group are killed. The worker does
// not wait for those that left the group.
func TestProcessesOfAnEndedProgramAreKilled(t *testing.T) {
	for _, name := range []string{"leaves a child", "leaves a daemon"} {
		in := tell(workertest.NewTask(1))
		if err := program(t, name, command.Options{}).Handle(in); err != nil {
			t.Fatal(err)
		}
		var pid int
		if err := json.Unmarshal(<-in.streamed, &pid); err != nil {
			t.Fatal(err)
		}
		if v := in.Verdict(); v == nil || string(v.Output) != `"left"` {
			t.Errorf("%s: %+v", name, v)
		}
		if name == "leaves a daemon" {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Errorf("the daemon is gone: %v", err)
			}
		}
		isGone(t, pid)
	}
}

// TestNothingIsCutOff: requests are heard that were printed by a program that is gone.
func TestNothingIsCutOff(t *testing.T) {
	in := tell(workertest.NewTask(1))
	in.save = func(task *workertest.Task, state []byte) error {
		var pid int
		if err := json.Unmarshal(state, &pid); err != nil {
			return err
		}
		isGone(t, pid)
		<-time.After(1100 * time.Millisecond) // longer than is waited for what others write
		return task.Checkpoint(state)
	}
	if err := program(t, "in a hurry", command.Options{}).Handle(in); err != nil {
		t.Fatal(err)
	}
	if v := in.Verdict(); v == nil || string(v.Output) != `"all was read"` || len(in.Thread().Chunks()) != 1 {
		t.Errorf("%+v", v)
	}
}

// TestPage: the program in the documentation is the one that is tested here, and it skips
// what it has done when there is a Python to run it.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/workers.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/count.py")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```python\n"+string(script)+"```\n") {
		t.Error("docs/workers.md does not show testdata/count.py")
	}
	p, err := command.New([]string{"python3", "testdata/count.py"}, nil)
	if err != nil {
		t.Log("there is no python3: the program is not run")
		return
	}
	in := workertest.NewTask(map[string]int{"rows": 5})
	if err := in.Checkpoint([]byte("3")); err != nil {
		t.Fatal(err)
	}
	if err := p.Handle(in); err != nil {
		t.Fatal(err)
	}
	if v := in.Verdict(); v == nil || string(v.Output) != `{"rows":5,"skipped":3}` || len(in.Thread().Chunks()) != 2 {
		t.Errorf("%+v, %s", v, in.Thread().Chunks())
	}
}

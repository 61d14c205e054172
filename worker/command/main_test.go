//go:build unix

package command_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/posthouse/posthouse/worker/command"
	"github.com/posthouse/posthouse/worker/workertest"
)

// TestMain runs a program of programs where the environment names one.
func TestMain(m *testing.M) {
	if name := os.Getenv("PROGRAM"); name != "" {
		in := bufio.NewReaderSize(os.Stdin, 1<<20)
		var t command.Task
		if !strings.HasPrefix(name, "plain") && name != "worker" && os.Getenv("CHILD") == "" {
			line, err := in.ReadBytes('\n')
			if err != nil || json.Unmarshal(line, &t) != nil {
				fmt.Fprintf(os.Stderr, "no task: %q\n", line)
				os.Exit(9)
			}
		}
		programs[name](t, in)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// program is this binary as one of programs.
func program(t testing.TB, name string, o command.Options) *command.Program {
	t.Helper()
	o.Env = append(o.Env, "PROGRAM="+name)
	p, err := command.New([]string{os.Args[0]}, &o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func say(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(b))
}

type object map[string]any

// ask prints a request and returns the answer.
func ask(in *bufio.Reader, v any) string {
	say(v)
	line, err := in.ReadString('\n')
	if err != nil {
		fmt.Fprintln(os.Stderr, "no answer:", err)
		os.Exit(8)
	}
	return strings.TrimSpace(line)
}

func raw(v json.RawMessage) string { return string(v) }

// programs are what runs instead of the tests.
var programs = map[string]func(t command.Task, in *bufio.Reader){
	"complete":  func(t command.Task, _ *bufio.Reader) { say(object{"action": "complete", "output": t}) },
	"fail":      func(command.Task, *bufio.Reader) { say(object{"action": "fail", "reason": "no luck"}) },
	"permanent": func(command.Task, *bufio.Reader) { say(object{"action": "fail-permanent", "reason": "never"}) },
	"retry": func(command.Task, *bufio.Reader) {
		say(object{"action": "retry-after", "reason": "busy", "delay": 2e9})
	},
	"pause":          func(command.Task, *bufio.Reader) { say(object{"action": "pause", "name": "nap", "delay": 1e9}) },
	"continue":       func(command.Task, *bufio.Reader) { say(object{"action": "continue", "output": 1}) },
	"unknown":        func(command.Task, *bufio.Reader) { say(object{"action": "unknown", "reason": "the line broke"}) },
	"not done":       func(command.Task, *bufio.Reader) { say(object{"action": "fail", "reason": "refused", "notDone": true}) },
	"plain not done": func(command.Task, *bufio.Reader) { os.Exit(command.ExitNotDone) },
	"interrupt":      func(command.Task, *bufio.Reader) { say(object{"action": "interrupt"}) },
	"no newline": func(command.Task, *bufio.Reader) {
		fmt.Print("\n  \n" + `{"action":"complete","output":5}`)
	},
	"answers": func(t command.Task, in *bufio.Reader) {
		var answers []string
		for _, request := range []any{
			object{"save": object{"row": 1}}, object{"stream": "half"}, object{"signal": object{"thread": "other", "name": "paid", "value": 7}},
			object{"save": strings.Repeat("x", 1<<20)}, object{"signal": "x"}, object{"action": "pause"}, object{"action": "complete", "output": "first"},
			object{"action": "complete", "output": "second"}, object{"save": 2},
		} {
			answers = append(answers, ask(in, request))
		}
		fmt.Fprintln(os.Stderr, strings.Join(answers, "\n"))
	},
	"crash behind the verdict": func(command.Task, *bufio.Reader) {
		say(object{"action": "complete", "output": 1})
		os.Exit(1)
	},
	"garbage": func(_ command.Task, in *bufio.Reader) {
		fmt.Println("Loading model...")
		_, _ = in.ReadByte() // until it is ended
	},
	"unknown request": func(command.Task, *bufio.Reader) { say(object{"log": "x"}) },
	"two requests":    func(command.Task, *bufio.Reader) { say(object{"save": 1, "stream": 2}) },
	"huge line":       func(command.Task, *bufio.Reader) { say(object{"save": strings.Repeat("x", command.MaxLine)}) },
	"no verdict":      func(command.Task, *bufio.Reader) { say(object{"save": 1}) },
	"bad verdict":     func(command.Task, *bufio.Reader) { say(object{"action": "fail"}) },
	"exit code": func(command.Task, *bufio.Reader) {
		fmt.Fprintln(os.Stderr, strings.Repeat("much text ", 1000)+"\nOut of memory")
		os.Exit(3)
	},
	"killed": func(command.Task, *bufio.Reader) { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"deaf": func(command.Task, *bufio.Reader) {
		for range 200_000 {
			say(object{"stream": 1})
		}
	},
	"talks much": func(command.Task, *bufio.Reader) {
		for range 3000 {
			say(object{"stream": 1})
		}
		say(object{"action": "complete"})
	},
	"environment": func(t command.Task, _ *bufio.Reader) {
		var ours []string
		for _, v := range os.Environ() {
			if strings.Contains(v, "POSTHOUSE_") || strings.HasPrefix(v, "OTHER=") {
				ours = append(ours, v)
			}
		}
		dir, _ := os.Getwd()
		say(object{"action": "complete", "output": append(ours, dir)})
	},
	"plain double": func(_ command.Task, in *bufio.Reader) {
		var n int
		if err := json.NewDecoder(in).Decode(&n); err != nil {
			os.Exit(4)
		}
		if rest, _ := in.ReadString(0); rest != "" {
			os.Exit(5)
		}
		fmt.Println(2 * n)
	},
	"plain silent":  func(command.Task, *bufio.Reader) {},
	"plain fail":    func(command.Task, *bufio.Reader) { fmt.Println(1); fmt.Fprintln(os.Stderr, "no such row"); os.Exit(1) },
	"plain garbage": func(command.Task, *bufio.Reader) { fmt.Println("done!") },
	"plain huge":    func(command.Task, *bufio.Reader) { fmt.Println(`"` + strings.Repeat("x", 1<<20) + `"`) },
	"stubborn":      func(command.Task, *bufio.Reader) { stubborn() },
	"plain stubborn": func(command.Task, *bufio.Reader) {
		fmt.Println("1")
		stubborn()
	},
	"obliging": func(t command.Task, _ *bufio.Reader) {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		say(object{"stream": "ready"})
		<-c
		say(object{"action": "complete", "output": "in time"})
	},
	"thrifty": func(t command.Task, in *bufio.Reader) {
		if t.Checkpoint != nil {
			say(object{"action": "complete", "output": t.Checkpoint})
			return
		}
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		say(object{"stream": "ready"})
		<-c
		_, _ = in.ReadString('\n')
		say(object{"stream": ask(in, object{"save": "row 7"})})
	},
	"leaves a child": func(command.Task, *bufio.Reader) {
		say(object{"stream": child("stubborn", false)})
		say(object{"action": "complete", "output": "left"})
	},
	"leaves a daemon": func(_ command.Task, in *bufio.Reader) {
		ask(in, object{"stream": child("stubborn", true)})
		say(object{"action": "complete", "output": "left"})
	},
	"in a hurry": func(command.Task, *bufio.Reader) { // it is gone before it is answered
		say(object{"save": os.Getpid()})
		say(object{"stream": "between"})
		say(object{"action": "complete", "output": "all was read"})
	},
	"refund":       refund,
	"pays":         pays,
	"misfits":      misfits,
	"finds a null": findsANull,
	"waits and fails": func(_ command.Task, in *bufio.Reader) {
		ask(in, object{"wait": object{"signal": "paid"}})
		os.Exit(3)
	},
	"worker": func(command.Task, *bufio.Reader) {
		p, err := command.New([]string{os.Args[0]}, &command.Options{Env: []string{"PROGRAM=stubborn"}})
		if err != nil {
			panic(err)
		}
		t := tell(workertest.NewTask(0))
		go func() { fmt.Println(raw(<-t.streamed)) }()
		_ = p.Handle(t)
	},
	"items": func(t command.Task, in *bufio.Reader) {
		var file string
		_ = json.Unmarshal(t.Input, &file)
		var done int
		_ = json.Unmarshal(t.Checkpoint, &done)
		for ; done < 100; done++ {
			if done == 73 && t.Attempt == 1 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				panic(err)
			}
			fmt.Fprintln(f, done)
			f.Close()
			ask(in, object{"save": done + 1})
		}
		say(object{"action": "complete", "output": t.Attempt})
	},
	"loop": func(t command.Task, _ *bufio.Reader) {
		switch {
		case t.Iteration == 0 && t.Resumed == "":
			say(object{"action": "pause", "name": "nap", "delay": 1e6})
		case t.Iteration == 2:
			say(object{"action": "complete", "output": t.Continued})
		default:
			say(object{"action": "continue", "output": fmt.Sprint(raw(t.Continued), t.Resumed, t.Iteration)})
		}
	},
	"retries": func(t command.Task, in *bufio.Reader) {
		if t.Attempt == 1 {
			say(object{"action": "retry-after", "reason": "busy", "delay": 1})
			return
		}
		ask(in, object{"signal": object{"thread": t.Thread, "name": "paid", "value": t.Failure}})
		ask(in, object{"stream": "nearly"})
		say(object{"action": "complete", "output": t.Failure})
	},
}

// stubborn says who it is, starts a child of the same kind, and goes on for ever.
func stubborn() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGPIPE)
	if os.Getenv("CHILD") == "" {
		say(object{"stream": []int{os.Getpid(), child("stubborn", false)}})
	}
	<-time.After(time.Hour)
}

// child starts a process that keeps our streams, and returns its id.
func child(name string, daemon bool) int {
	cmd := exec.CommandContext(context.Background(), os.Args[0])
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "PROGRAM="+name, "CHILD=1")
	if daemon {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd.Process.Pid
}

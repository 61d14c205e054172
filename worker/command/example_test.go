//go:build unix

package command_test

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/posthouse/posthouse/worker/command"
	"github.com/posthouse/posthouse/worker/workertest"
)

// A shell script handles tasks. It is given to a Worker as p.Handle; here one execution of it
// is tried without an engine.
func Example() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	p, err := command.New([]string{"sh", "testdata/greet.sh"}, &command.Options{Logger: log})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := workertest.NewTask("world")
	if err := p.Handle(t); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Verdict().Action, string(t.Verdict().Output))
	fmt.Printf("%s\n", t.Checkpoints())
	// Output:
	// level=INFO msg="stderr: this goes to the log" task=task thread=thread attempt=1
	// complete "hello from a shell"
	// [{"greeted": true}]
}

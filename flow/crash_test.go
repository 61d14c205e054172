package flow_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/step"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// Names of the child's environment.
const (
	childDir   = "FLOW_CHILD_DIR"   // runs the flow there
	childPlain = "FLOW_CHILD_PLAIN" // without recording: the control arm
)

// A diary is what a child does to the world: lines of a file, each written
// whole, and told to whoever is to kill it.
type diary struct{ file *os.File }

func (d *diary) note(line string) {
	if _, err := d.file.WriteString(line + "\n"); err != nil {
		panic(err)
	}
	fmt.Println(line)
}

// child runs the flow of the crash test, if this process was started for it.
func child() bool {
	dir := os.Getenv(childDir)
	if dir == "" {
		return false
	}
	if err := runChild(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func runChild(dir string) error {
	ctx := context.Background()
	file, err := os.OpenFile(filepath.Join(dir, "diary"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	store, err := sqlitestore.Open(ctx, filepath.Join(dir, "ledger.db"), nil)
	if err != nil {
		return err
	}
	led, err := ledger.Open(store, nil)
	if err != nil {
		return err
	}
	defer led.Close()
	a, err := flow.New("crash", crashing(&diary{file}, os.Getenv(childPlain) != "")).Open(led, nil)
	if err != nil {
		return err
	}
	res, err := a.Run(ctx, "t", crashSteps, flow.RunOptions{Run: "only"})
	if err != nil {
		return err
	}
	fmt.Println("output", res.Status, res.Output)
	return nil
}

const crashSteps = 12

// crashing has an effect in each step: one after another, some beside each
// other, some within a step that fails once.
func crashing(d *diary, plain bool) flow.Func[int, int] {
	effect := func(ctx context.Context, name string, value int) (int, error) {
		fn := func(context.Context) (int, error) { d.note("did " + name); return value, nil }
		do := func() (int, error) { return step.Do(ctx, name, fn) }
		if plain {
			do = func() (int, error) { return fn(ctx) }
		}
		v, err := do()
		if err == nil {
			d.note("recorded " + name)
		}
		return v, err
	}
	return func(ctx context.Context, n int) (sum int, err error) {
		for i := range n {
			v, err := effect(ctx, fmt.Sprint("one-", i), i)
			if err != nil {
				return 0, err
			}
			sum += v
			list, err := step.Map(ctx, "many", make([]int, 4), func(ctx context.Context, _ int) (int, error) {
				key := strings.Split(step.Key(ctx), "/")
				return effect(ctx, "in-"+key[len(key)-1], 1)
			})
			if err != nil {
				return 0, err
			}
			failed := false
			v, err = step.DoWith(ctx, "retried", step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: 1001, InitialDelay: -1}}, func(ctx context.Context) (int, error) {
				v, err := effect(ctx, fmt.Sprint("nested-", i), 1)
				if err == nil && !failed {
					failed, err = true, errBoom
				}
				return v, err
			})
			if err != nil {
				return 0, err
			}
			sum += v + len(list)
		}
		return sum, nil
	}
}

// killOften runs the child until it ends, killing it at random places, and
// returns what it printed last and how often it was killed.
func killOften(t *testing.T, dir string, rnd *rand.Rand, most int, env ...string) (output string, kills int) {
	for {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(append(os.Environ(), childDir+"="+dir), env...)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, after := bufio.NewScanner(out), rnd.IntN(12)
		for i := 0; lines.Scan(); i++ {
			output = lines.Text()
			if kills < most && i == after {
				<-time.After(time.Duration(rnd.IntN(2000)) * time.Microsecond)
				kills++
				if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err == nil {
			return output, kills
		} else if state := cmd.ProcessState; state.Exited() {
			t.Fatal("the child failed:", err)
		}
	}
}

// violations returns effects that happened again although they were on record,
// and how often effects happened more than once at all.
func violations(t *testing.T, dir string) (again []string, doubled, effects int) {
	data, err := os.ReadFile(filepath.Join(dir, "diary"))
	if err != nil {
		t.Fatal(err)
	}
	recorded, did := map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		verb, name, _ := strings.Cut(line, " ")
		switch {
		case verb == "recorded":
			recorded[name] = true
			continue
		case recorded[name]:
			again = append(again, name)
		case did[name]:
			doubled++
		}
		did[name] = true
	}
	return again, doubled, len(did)
}

// TestKilledFlowRunsNoRecordedStepAgain kills the process that runs a flow at
// random places, over and over. Control arm: the same flow without steps.
func TestKilledFlowRunsNoRecordedStepAgain(t *testing.T) {
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for seed := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		dir := t.TempDir()
		output, kills := killOften(t, dir, rnd, 20)
		again, doubled, effects := violations(t, dir)
		if len(again) > 0 {
			t.Fatalf("seed %d: recorded and done again: %q", seed, again)
		}
		if want := fmt.Sprint("output done ", 66+5*crashSteps); output != want {
			t.Fatalf("seed %d: %q, want %q", seed, output, want)
		}
		if effects != 6*crashSteps || doubled > 4*kills {
			t.Fatalf("seed %d: %d effects, %d of them twice after %d kills", seed, effects, doubled, kills)
		}
		t.Logf("seed %d: %d kills, %d effects done before their record", seed, kills, doubled)
	}
	dir := t.TempDir()
	_, kills := killOften(t, dir, rand.New(rand.NewPCG(1, 1)), 5, childPlain+"=1")
	if again, _, _ := violations(t, dir); len(again) == 0 || kills == 0 {
		t.Fatal("the control arm repeats nothing: the test finds nothing")
	}
}

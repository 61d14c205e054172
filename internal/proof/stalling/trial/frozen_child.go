package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

const frozenEnv = "POSTHOUSE_FROZEN" // set to a frozenChild as JSON: this process runs the threads of one freeze

// A frozenChild is a process over a SQLite store that runs one thread of each model to its end.
type frozenChild struct {
	Name    string
	Store   string        // path
	Witness string        // path of the file of all deeds
	Lease   time.Duration // of the process
	Halts   bool          // it writes each deed to its output, too, and waits for a line
}

// The lines of a child that are no deed.
const (
	saysLocked = "locked" // somebody else has the store
	saysDone   = "done"
)

// Frozen runs this process as one that is to be frozen and ends it, if that is what it was started
// for.
func Frozen() {
	text := os.Getenv(frozenEnv)
	if text == "" {
		return
	}
	var c frozenChild
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		err = c.run(context.Background())
	}
	switch {
	case errors.Is(err, posthouse.ErrLocked):
		fmt.Println(saysLocked)
	case err != nil:
		fmt.Fprintln(os.Stderr, "frozen:", c.Name, err)
		os.Exit(1)
	default:
		fmt.Println(saysDone)
	}
	os.Exit(0)
}

func (c *frozenChild) run(ctx context.Context) error {
	store, err := sqlitestore.Open(ctx, c.Store, nil)
	if err != nil {
		return err
	}
	l, err := ledger.Open(store, &ledger.Options{Owner: c.Name, LeaseTTL: c.Lease, Validate: gate.Validator()})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	err = c.runAll(ctx, l)
	return errors.Join(err, l.Close(), store.Close())
}

// runAll takes the thread of each model to its end, and answers what it asks.
func (c *frozenChild) runAll(ctx context.Context, l *ledger.Ledger) error {
	file, err := os.OpenFile(c.Witness, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	goOn := bufio.NewReader(os.Stdin)
	var mu sync.Mutex
	note := func(thread string) *witness {
		return &witness{note: func(part, by string) {
			mu.Lock()
			defer mu.Unlock()
			line := thread + " " + part + " " + by + "\n"
			if _, err := file.WriteString(line); err != nil {
				panic(err)
			}
			if !c.Halts {
				return
			}
			fmt.Print(line)
			if _, err := goOn.ReadString('\n'); err != nil && err != io.EOF {
				panic(err)
			}
		}}
	}
	for _, name := range modelNames() {
		p, err := models[name](l, c.Name, note)
		if err != nil {
			return err
		}
		if err := c.finish(ctx, l, p, name); err != nil {
			return fmt.Errorf("thread %s: %w", name, err)
		}
	}
	return nil
}

func (c *frozenChild) finish(ctx context.Context, l *ledger.Ledger, p *program, thread string) error {
	status, err := p.resume(ctx, thread)
	if errors.Is(err, posthouse.ErrNotFound) {
		status, err = p.begin(ctx, thread)
	}
	for range 20 {
		if err != nil || status == posthouse.StatusDone {
			return err
		}
		for g, err := range l.Gates(ctx, ledger.GateQuery{Thread: thread}) {
			if err != nil {
				return err
			}
			d := posthouse.Decision{Verdict: posthouse.Approve, By: "ann"}
			if g.Kind == gate.KindOutcome {
				d.Verdict = posthouse.Redo
				if c.saw(thread+" "+effect+" ") > 0 {
					d.Verdict, d.Value = posthouse.Happened, []byte(`"paid"`)
				}
			}
			if _, err := l.Decide(ctx, g.ID, d); err != nil {
				return err
			}
		}
		status, err = p.resume(ctx, thread)
	}
	return fmt.Errorf("it does not end, and is %s", status)
}

// saw returns how many deeds on record begin so.
func (c *frozenChild) saw(prefix string) (n int) {
	data, _ := os.ReadFile(filepath.Clean(c.Witness))
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

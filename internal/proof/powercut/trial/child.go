package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
)

// childEnv has the order of a child.
const childEnv = "POSTHOUSE_TRIAL_CHILD"

// An order is what a child is to do.
type order struct {
	Store string
	URL   string
	Weak  string // the setting of a control arm
	Early bool   // acknowledge before the commit, as a control arm
	Acks  string // a file with what was acknowledged
	Seed  uint64
	Few   int // so many operations for each writer; 0: until the end
}

// IsChild reports whether this process was started as a child; then it calls [Child] and
// nothing else.
func IsChild() bool { return os.Getenv(childEnv) != "" }

// Child is a child: it checks, writes, and returns the exit code.
func Child() int {
	var o order
	err := json.Unmarshal([]byte(os.Getenv(childEnv)), &o)
	if err == nil {
		go func() { // it ends with its parent
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		err = o.run(context.Background(), &voice{out: os.Stdout})
	}
	if err != nil {
		fmt.Println("failed", oneLine(err))
		return 1
	}
	return 0
}

// A voice prints lines whole.
type voice struct {
	mu  sync.Mutex
	out io.Writer
}

// say prints a line. The end of the line shows that it is whole.
func (v *voice) say(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, _ = fmt.Fprintf(v.out, format+" .\n", args...)
}

func oneLine(err error) string { return fmt.Sprintf("%q", err.Error()) }

func (o *order) run(ctx context.Context, v *voice) (err error) {
	acks, err := readAcks(o.Acks)
	if err != nil {
		return err
	}
	s := Find(o.Store)
	if s == nil {
		return fmt.Errorf("trial: there is no store %q", o.Store)
	}
	store, err := s.open(ctx, o.URL, o.Weak)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	l, err := ledger.Open(store, nil)
	if err != nil {
		return err
	}
	if err := o.check(ctx, l, acks, v); err != nil {
		return err
	}
	v.say("checked %d", len(acks))
	var wg sync.WaitGroup
	for i := range writers {
		w := &writer{
			l: l, v: v, early: o.Early, few: o.Few, rnd: rand.New(rand.NewPCG(o.Seed, uint64(i))),
			name: fmt.Sprintf("t-%x-%d", o.Seed, i),
		}
		wg.Go(func() {
			if err := w.work(ctx); err != nil {
				v.say("stopped %s", oneLine(err))
			}
		})
	}
	wg.Wait()
	return l.Close()
}

// check says what is lost of what was acknowledged, and what verification finds.
func (o *order) check(ctx context.Context, l *ledger.Ledger, acks []ack, v *voice) error {
	errs := make([]error, checkers)
	var wg sync.WaitGroup
	for c := range checkers {
		wg.Go(func() {
			for i := c; i < len(acks) && errs[c] == nil; i += checkers {
				lost, err := acks[i].check(ctx, l)
				switch {
				case lost:
					v.say("lost %s", acks[i])
				case err != nil:
					errs[c] = fmt.Errorf("check %s: %w", acks[i], err)
				}
				if i%100 == 0 {
					v.say("checking %d", i) // not a server that is silent
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	report, err := sign.Verify(ctx, l.Store(), nil, &sign.VerifyOptions{Concurrency: checkers})
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	for _, f := range report.Faults {
		v.say("fault %q", fmt.Sprintf("%+v", f))
	}
	return nil
}

// checkers is how many acknowledgements are checked at once.
const checkers = 4

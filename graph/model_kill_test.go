package graph_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/ledger"
	"github.com/posthouse/posthouse/sign"
	"github.com/posthouse/posthouse/store/sqlitestore"
)

// Names of the environment of a process that is to be killed.
const (
	killDir   = "GRAPH_KILL_DIR"   // it runs random graphs there
	killSeed  = "GRAPH_KILL_SEED"  // which
	killHasty = "GRAPH_KILL_HASTY" // over a store that acknowledges too early
	killAt    = "GRAPH_KILL_AT"    // as in "before 7": it halts there, at its seventh append
)

// killCases are so many graphs of a seed, with something to lose in each.
func killCases(seed uint64) (cases []*trial) {
	for n := int(seed) * 1000; len(cases) < 12; n++ {
		c := &trial{plan: genGraph("", 0).Example(n), opt: rapid.Custom(genOptions).Example(n), thread: fmt.Sprint("case-", n), w: newWitness()}
		c.rnd, c.faults = rand.New(rand.NewPCG(uint64(n), 2)), rapid.Custom(genFaults).Example(n)
		c.faults.Crashes = nil // it does not need to play them
		if c.foresee(); c.model.ran <= 40 && len(c.model.effects) >= 6 {
			cases = append(cases, c)
		}
	}
	return cases
}

// A halting store stops for ever at an append, so that its process can be
// killed exactly there.
type halting struct {
	posthouse.Store
	runs   posthouse.Running
	left   atomic.Int64
	before bool
}

func (h *halting) Append(ctx context.Context, b *posthouse.Batch) error {
	here := h.left.Add(-1) == 0
	if here && h.before {
		h.halt()
	}
	err := h.Store.Append(ctx, b)
	if here {
		h.halt()
	}
	return err
}

// halt waits to be killed. A timer runs in that time: without it the runtime would end
// the process itself, as deadlocked, once all others wait for this goroutine.
func (h *halting) halt() {
	fmt.Println("halted")
	<-time.After(time.Hour)
}

func (h *halting) Exclusive() bool { return true }

func (h *halting) Runs() *posthouse.Running { return &h.runs }

// A hasty store says of steps that they are on record, and puts them there once
// something else is to be done. That does not show unless its process is killed.
type hasty struct {
	posthouse.Store
	runs posthouse.Running
	mu   sync.Mutex
	late []*posthouse.Batch
}

func (h *hasty) Exclusive() bool { return true }

func (h *hasty) Runs() *posthouse.Running { return &h.runs }

func (h *hasty) Append(ctx context.Context, b *posthouse.Batch) error {
	recs, err := b.Entry.Records()
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range recs {
		if r.Step == nil && r.Claim == nil {
			if err := h.flush(ctx, b.Entry.Thread); err != nil {
				return err
			}
			return h.Store.Append(ctx, b)
		}
	}
	c, e, info := *b, *b.Entry, posthouse.ThreadInfo{}
	e.Header, e.Sig, e.Bodies = append([]byte(nil), e.Header...), append([]byte(nil), e.Sig...), nil
	for _, body := range b.Entry.Bodies {
		e.Bodies = append(e.Bodies, append([]byte(nil), body...))
	}
	sum, err := b.Thread.MarshalBinary()
	if err == nil {
		err = info.UnmarshalBinary(sum)
	}
	c.Entry, c.Thread = &e, &info
	h.late = append(h.late, &c)
	return err
}

// flush writes what is late of a thread, or of all. Callers hold h.mu.
func (h *hasty) flush(ctx context.Context, thread string) error {
	rest := h.late[:0:0]
	for _, b := range h.late {
		if thread != "" && b.Entry.Thread != thread {
			rest = append(rest, b)
		} else if err := h.Store.Append(ctx, b); err != nil {
			return err
		}
	}
	h.late = rest
	return nil
}

// all flushes before anything else is asked of the store.
func (h *hasty) all(ctx context.Context) posthouse.Store {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.flush(context.WithoutCancel(ctx), ""); err != nil {
		panic(err)
	}
	return h.Store
}

func (h *hasty) Read(ctx context.Context, thread string, r posthouse.Range) iter.Seq2[*posthouse.Entry, error] {
	return h.all(ctx).Read(ctx, thread, r)
}

func (h *hasty) Find(ctx context.Context, id posthouse.ID) (posthouse.Ref, error) {
	return h.all(ctx).Find(ctx, id)
}

func (h *hasty) List(ctx context.Context, q posthouse.Query) iter.Seq2[*posthouse.Header, error] {
	return h.all(ctx).List(ctx, q)
}

func (h *hasty) Threads(ctx context.Context, q posthouse.ThreadQuery) iter.Seq2[*posthouse.ThreadInfo, error] {
	return h.all(ctx).Threads(ctx, q)
}

func (h *hasty) Close() error { return h.all(context.Background()).Close() }

// An executioner ends this process if a case went wrong.
type executioner struct{ thread string }

func (e executioner) Fatal(args ...any) { e.Fatalf("%s", fmt.Sprint(args...)) }

func (e executioner) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, e.thread+": "+format+"\n", args...)
	os.Exit(1)
}

// killed runs the cases of a seed, if this process was started to be killed at
// it: some at once, over one store, each from where it stands.
func killed() bool {
	dir := os.Getenv(killDir)
	if dir == "" {
		return false
	}
	ref := executioner{"the process"}
	must := func(err error) {
		if err != nil {
			ref.Fatal(err)
		}
	}
	ctx := context.Background()
	seed, err := strconv.ParseUint(os.Getenv(killSeed), 10, 64)
	must(err)
	diary, err := os.OpenFile(filepath.Join(dir, "diary"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(err)
	store, err := openKilled(ctx, dir)
	must(err)
	clock := new(atomic.Int64)
	now := func() time.Time { return time.UnixMilli(max(clock.Load(), time.Now().UnixMilli())) }
	led, err := ledger.Open(store, &ledger.Options{Owner: "p", Now: now})
	must(err)
	past, err := os.ReadFile(diary.Name())
	must(err)
	lives := strings.Count(string(past), "life")
	newWitness().inDiary(diary).write("life", "")
	todo := make(chan *trial)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for c := range todo {
				c.referee, c.ctx, c.clock, c.ledger = executioner{c.thread}, ctx, clock, led
				c.w.inDiary(diary)
				c.calls = lives // each goes on in another Durability
				c.compile()
				c.toTheEnd()
			}
		})
	}
	for _, c := range killCases(seed) {
		todo <- c
	}
	close(todo)
	workers.Wait()
	must(errors.Join(led.Close(), store.Close()))
	fmt.Println("end")
	return true
}

func (w *witness) inDiary(f *os.File) *witness {
	w.diary = f
	return w
}

// toTheEnd runs a case from where it stands, and forks it.
func (c *trial) toTheEnd() {
	have, whyNot := c.finish(c.thread, "", byResume, "")
	c.check("the thread", have, whyNot)
	c.rnd = rand.New(rand.NewPCG(uint64(len(c.thread)), 3))
	c.forks([]int{c.rnd.IntN(1000), c.rnd.IntN(1000), c.rnd.IntN(1000)}[:c.rnd.IntN(4)])
}

func openKilled(ctx context.Context, dir string) (store posthouse.Store, err error) {
	store, err = sqlitestore.Open(ctx, filepath.Join(dir, "ledger.db"), nil)
	if err != nil {
		return nil, err
	}
	if when, at, ok := strings.Cut(os.Getenv(killAt), " "); ok {
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return nil, err
		}
		h := &halting{Store: store, before: when == "before"}
		h.left.Store(n)
		store = h
	}
	if os.Getenv(killHasty) != "" {
		store = &hasty{Store: store}
	}
	return store, nil
}

// A killing is the lives of a process that runs the cases of a seed.
type killing struct {
	testing.TB
	dir   string
	seed  uint64
	hasty bool
	rnd   *rand.Rand
}

// life runs the process once, to its end or until it is killed: by a line of
// its diary, a while after it, or at an append.
func (k *killing) life(kill bool) (ended bool) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killDir+"="+k.dir, fmt.Sprint(killSeed, "=", k.seed))
	if k.hasty {
		cmd.Env = append(cmd.Env, killHasty+"=1")
	}
	verb, after, pause := "", 1+k.rnd.IntN(30), time.Duration(0)
	switch k.rnd.IntN(5) {
	case 0:
		verb = "acked"
	case 1:
		verb = "began"
	case 2:
		pause = time.Duration(k.rnd.IntN(3000)) * time.Microsecond
	default:
		verb = "halted"
		if kill {
			cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s %d", killAt, []string{"before", "after"}[k.rnd.IntN(2)], after))
		}
		after = 1
	}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		k.Fatal(err)
	}
	for lines, n := bufio.NewScanner(out), 0; lines.Scan(); {
		if n++; kill && n >= after && strings.HasPrefix(lines.Text(), verb) {
			kill = false
			<-time.After(pause)
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				k.Fatal(err)
			}
		}
		ended = lines.Text() == "end"
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.Exited() {
		k.Fatalf("seed %d: %v: %s", k.seed, err, said.String())
	}
	return ended
}

// lives runs the process until it ends by itself, and returns how often it was
// killed.
func (k *killing) lives(kills int) (n int) {
	for !k.life(n < kills) {
		n++
	}
	return n
}

// verdict returns what the diary has that must not be, and how many steps were
// done again before they were known to be on record.
func (k *killing) verdict() (wrong []string, again int) {
	ctx := k.Context()
	store, err := sqlitestore.Open(ctx, filepath.Join(k.dir, "ledger.db"), nil)
	if err != nil {
		k.Fatal(err)
	}
	led, err := ledger.Open(store, nil)
	if err != nil {
		k.Fatal(err)
	}
	defer func() {
		if err := errors.Join(led.Close(), store.Close()); err != nil {
			k.Error(err)
		}
	}()
	w := newWitness()
	w.inherits = inherited(ctx, led)
	data, err := os.ReadFile(filepath.Join(k.dir, "diary"))
	if err != nil {
		k.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := append(strings.Fields(line), "", "", "")
		where, name := f[1], f[2]
		if thread, branch, ok := strings.Cut(where, "~"); ok {
			w.learn(thread, branch)
		}
		switch f[0] {
		case "life":
			w.life++
		case "began":
			if w.ran[where+" "+name] > 0 {
				again++
			}
			w.began(where, name, f[3])
		case "acked":
			w.acked[where+" "+name] = true
		default:
			w.blame("the diary says %s", line)
		}
	}
	for _, c := range killCases(k.seed) {
		c.referee, c.ctx, c.ledger = k, ctx, led
		c.compile()
		if c.why == "" {
			c.check("the thread", c.head(c.thread, ""), "")
			c.shots()
		}
		c.account(c.lines(), true)
	}
	if report, err := sign.Verify(ctx, store, nil, nil); err != nil || len(report.Faults) > 0 {
		k.Fatalf("verify: %v, %+v", err, report)
	}
	return w.wrong, again
}

// Whenever a process that runs any graphs over SQLite is killed, the next one
// takes them up: they end where a plain program would, and no step that a run
// was told to be on record is done again, in any Durability, nor is it given
// another key. Control arm: a store that says so too early, with the same seeds;
// nothing but a kill shows it. POSTHOUSE_KILLS says how many kills,
// POSTHOUSE_SEED where their seeds begin.
func TestKilledGraphs(t *testing.T) {
	kills, seed := 8, uint64(time.Now().UnixNano()%1_000_000)
	for name, set := range map[string]func(n uint64){"POSTHOUSE_KILLS": func(n uint64) { kills = int(n) }, "POSTHOUSE_SEED": func(n uint64) { seed = n }} {
		if v := os.Getenv(name); v != "" {
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				t.Fatalf("name %v, error %v", name, err)
			}
			set(n)
		}
	}
	t.Logf("%d kills from seed %d", kills, seed)
	caught := 0
	for first := seed; kills > 0 || caught == 0 && seed < first+10; seed++ {
		k := &killing{TB: t, dir: t.TempDir(), seed: seed, rnd: rand.New(rand.NewPCG(seed, 1))}
		here := k.lives(min(kills, 25))
		kills -= here
		wrong, again := k.verdict()
		if len(wrong) > 0 {
			t.Fatalf("seed %d: %s", seed, strings.Join(wrong, "\n"))
		}
		t.Logf("seed %d: %d kills, %d steps done again before they were on record", seed, here, again)
		h := &killing{TB: t, dir: t.TempDir(), seed: seed, hasty: true, rnd: rand.New(rand.NewPCG(seed, 1))}
		here = h.lives(max(here, 8))
		wrong, _ = h.verdict()
		t.Logf("seed %d: %d kills of one over a hasty store, %d repeats caught", seed, here, len(wrong))
		caught += len(wrong)
	}
	if caught == 0 {
		t.Error("a store that acknowledges too early was not caught: the test finds nothing")
	}
	calm := &killing{TB: t, dir: t.TempDir(), seed: seed, hasty: true, rnd: rand.New(rand.NewPCG(seed, 1))}
	calm.lives(0)
	if wrong, _ := calm.verdict(); len(wrong) > 0 {
		t.Errorf("seed %d: found without a kill, so that kills show nothing: %q", seed, wrong)
	}
}

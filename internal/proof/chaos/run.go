package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/internal/proof/site"
	"github.com/posthouse/posthouse/ledger"
)

// A Config says how a trial is run.
type Config struct {
	Runs        int           // that are begun at most
	For         time.Duration // no run is begun later than that after the first; 0: all are
	Engines     int           // processes; default 2
	Workers     int           // default 4
	Concurrency int           // runs that are begun and not complete; default 64
	Seed        uint64
	Calm        bool // nothing is disturbed
	Control     bool // the control arm: engines do not record their steps
	Progress    func(format string, a ...any)
	Now         func() time.Time // default time.Now
}

// patience is how long the last runs may take once nothing is disturbed any more.
const patience = 2 * time.Minute

// Run runs a trial in a directory of its own. The error is about the trial itself; what it
// has found is in the line.
func Run(ctx context.Context, c *Config) (line *Line, err error) {
	t := &trial{Config: *c}
	if t.Engines == 0 {
		t.Engines = 2
	}
	if t.Workers == 0 {
		t.Workers = 4
	}
	if t.Concurrency == 0 {
		t.Concurrency = 64
	}
	if t.Progress == nil {
		t.Progress = func(string, ...any) {}
	}
	if t.Now == nil {
		t.Now = time.Now
	}
	t.dir, err = os.MkdirTemp("", "chaos")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(t.dir)) }()
	defer t.down()
	if err := t.up(ctx); err != nil {
		return nil, err
	}
	return t.run(ctx)
}

// A trial is servers, processes and runs.
type trial struct {
	Config
	dir            string
	postgres, nats *site.Site
	processes      []*process
	witness        *witness
	store          posthouse.Store
	led            *ledger.Ledger
	app            *flow.App[job, uint64]

	begun    int
	done     []string              // runs that are complete
	open     map[string]bool       // runs that are begun
	unknown  map[string]bool       // runs that had an effect with an unknown outcome
	outcomes map[posthouse.ID]bool // that people were asked about
	ear      *ear
	proxies  []*site.Proxy     // before Postgres, one for each engine
	wrong    map[string]string // runs that failed, or have another output or other records, and which
	records  int               // lines of traces that were compared
}

func (t *trial) path(name string) string { return filepath.Join(t.dir, name) }

// up starts everything.
func (t *trial) up(ctx context.Context) (err error) {
	t.postgres, err = t.site("postgres")
	if err != nil {
		return err
	}
	t.nats, err = t.site("nats")
	if err != nil {
		return err
	}
	url := t.postgres.URL("chaos", "")
	_, addr := t.nats.Addr()
	t.witness, err = openWitness(t.path("witness"))
	if err != nil {
		return err
	}
	t.ear, err = listen(t.path("witness"))
	if err != nil {
		return err
	}
	t.store, err = openStore(ctx, url)
	if err != nil {
		return err
	}
	t.led, err = ledger.Open(t.store, &ledger.Options{Validate: gate.Validator()})
	if err != nil {
		return err
	}
	t.app, err = open(t.led, t.witness, t.Control)
	if err != nil {
		return err
	}
	for i := range t.Engines + t.Workers {
		o := order{Name: fmt.Sprint("worker ", i-t.Engines), NATS: "nats://" + addr, Witness: t.path("witness"), Forgetful: t.Control}
		if i < t.Engines {
			network, behind := t.postgres.Addr()
			proxy, err := site.NewProxy(network, behind, site.Faults{}, t.Seed)
			if err != nil {
				return err
			}
			t.proxies = append(t.proxies, proxy)
			o.Name, o.Store = fmt.Sprint("engine ", i), t.postgres.URL("chaos", proxy.Addr())
		}
		p := &process{order: o}
		if err := p.start(); err != nil {
			return err
		}
		t.processes = append(t.processes, p)
	}
	return nil
}

// site starts a server in a directory of its own.
func (t *trial) site(kind string) (*site.Site, error) {
	dir := t.path(kind)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	return site.Find(kind).Start(dir)
}

// down ends everything.
func (t *trial) down() {
	for _, p := range t.processes {
		p.kill()
	}
	for _, p := range t.proxies {
		p.Close()
	}
	if t.led != nil {
		_ = t.led.Close()
	}
	if t.store != nil {
		_ = t.store.Close()
	}
	if t.witness != nil {
		_ = t.witness.f.Close()
	}
	if t.ear != nil {
		_ = t.ear.f.Close()
	}
	for _, s := range []*site.Site{t.nats, t.postgres} {
		if s != nil {
			s.Close()
		}
	}
}

// run disturbs the trial while runs are begun, then waits for the last ones.
func (t *trial) run(ctx context.Context) (*Line, error) {
	start := t.Now()
	_, address := t.nats.Addr()
	m := &monkey{rnd: rand.New(rand.NewPCG(t.Seed, 1)), processes: t.processes, proxies: t.proxies, postgres: t.postgres, nats: t.nats, address: address, say: t.Progress}
	disturbing, calm := context.WithCancel(ctx)
	defer calm()
	ended := make(chan error, 1)
	if t.Calm {
		ended <- nil
	} else {
		go func() { ended <- m.run(disturbing) }()
	}
	t.open, t.wrong, t.unknown, t.outcomes = map[string]bool{}, map[string]string{}, map[string]bool{}, map[posthouse.ID]bool{}
	err := t.beginAll(ctx, start)
	calm()
	if err := errors.Join(err, <-ended); err != nil {
		return nil, err
	}
	rest, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for len(t.open) > 0 && pause(rest, 100*time.Millisecond) {
		t.look(rest)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	told, err := t.ear.end()
	if err == nil {
		err = t.compare(ctx, told)
	}
	if err != nil {
		return nil, err
	}
	line := &Line{
		Seed: t.Seed, Runs: t.begun, Complete: len(t.done), Seconds: int(t.Now().Sub(start).Seconds()), Disturbances: m.done,
		Executions: told.Executions, Again: told.Again, Violations: len(told.Violations), Wrong: len(t.wrong), Records: t.records,
		Payments: told.Payments, Approvals: told.Approvals, Unknown: len(t.outcomes), findings: told.Violations,
	}
	for _, f := range told.Violations {
		line.what = append(line.what, f.text)
	}
	line.what = slices.AppendSeq(line.what, maps.Values(t.wrong))
	for thread := range t.open {
		line.what = append(line.what, "run "+thread+" is not complete: "+t.where(ctx, thread))
	}
	return line, nil
}

// compare compares what runs have on record with what they have where nothing happens to them,
// and with what the witness says of their payments.
func (t *trial) compare(ctx context.Context, told *testimony) error {
	for some := range slices.Chunk(t.done, calmAtOnce) {
		want, err := calmTraces(ctx, some)
		if err != nil {
			return err
		}
		for _, thread := range some {
			if err := told.prove(ctx, t.led, thread); err != nil {
				return err
			}
			have, err := traceOf(ctx, t.led, thread)
			if err != nil {
				return err
			}
			calm := want[thread]
			if t.unknown[thread] { // people were asked more than in a run that nothing happens to
				have, calm = have.results(), calm.results()
			}
			t.records += len(have)
			if d := have.differs(calm); d != "" && t.wrong[thread] == "" { // how it ended says more
				t.wrong[thread] = "run " + thread + ": " + d
			}
		}
	}
	return nil
}

// beginAll begins runs, as many at once as there may be, and waits for most of them.
func (t *trial) beginAll(ctx context.Context, start time.Time) error {
	said := start
	for t.begun < t.Runs || len(t.open) > t.Concurrency/2 {
		late := t.For > 0 && t.Now().Sub(start) > t.For
		if late || len(t.wrong) > 0 {
			break
		}
		for t.begun < t.Runs && len(t.open) < t.Concurrency {
			thread := fmt.Sprint("run-", t.begun)
			if t.Control {
				thread = controlThread(t.begun)
			}
			if !t.begin(ctx, thread) {
				break // the server is away
			}
			t.begun++
			t.open[thread] = true
		}
		if !pause(ctx, 50*time.Millisecond) {
			return ctx.Err()
		}
		t.look(ctx)
		if now := t.Now(); now.Sub(said) > 10*time.Second {
			said = now
			t.Progress("%d of %d runs complete", len(t.done), t.Runs)
		}
	}
	return nil
}

// begin begins a run, up to its first task. It reports whether the run is on record. Where the
// answer was lost it is begun again, as the same run.
func (t *trial) begin(ctx context.Context, thread string) bool {
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := t.app.Run(within, thread, job{Thread: thread}, flow.RunOptions{Run: thread})
	if err != nil {
		_, err = t.app.Result(within, thread)
	}
	return err == nil
}

// where says where a run stands.
func (t *trial) where(ctx context.Context, thread string) string {
	r, err := t.app.Result(ctx, thread)
	if err != nil {
		return err.Error()
	}
	text := string(r.Status)
	for _, g := range r.Waiting {
		text += fmt.Sprintf(", waits for %s, gate %s, decided: %v", g.Name, g.ID, g.Decision != nil)
		if g.Call != nil {
			text += fmt.Sprint(", attempt ", g.Call.Attempt)
		}
	}
	if info, err := t.led.Thread(ctx, thread); err == nil {
		text += fmt.Sprintf(", %d entries, lease %+v, summary %+v", info.Tail.Seq, info.Lease, info)
	}
	slots, ok := t.store.(posthouse.SlotLister)
	if !ok {
		return text
	}
	for item, err := range slots.Slots(ctx, thread) { // which session has the task, if any
		if err != nil {
			return text + ", slots: " + err.Error()
		}
		text += fmt.Sprintf(", slot %s, fence %d: %.300s", item.Key.Step, item.Fence, item.Value)
	}
	return text
}

// look takes the runs off that are complete.
func (t *trial) look(ctx context.Context) {
	for thread := range t.open {
		within, cancel := context.WithTimeout(ctx, 5*time.Second)
		r, err := t.app.Result(within, thread)
		cancel()
		if err != nil {
			return // the server is away
		}
		switch r.Status {
		case posthouse.StatusDone:
			if want := expected(thread); r.Output != want {
				t.wrong[thread] = fmt.Sprintf("run %s: %d, want %d", thread, r.Output, want)
			}
		case posthouse.StatusFailed, posthouse.StatusCancelled:
			t.wrong[thread] = fmt.Sprintf("run %s: %s %s", thread, r.Status, r.Error)
		default:
			t.people(ctx, r.Waiting)
			continue
		}
		delete(t.open, thread)
		t.done = append(t.done, thread)
	}
}

// settled is how long people wait before they say that a payment of unknown outcome was not
// made: whoever is at it may be frozen or cut off, and pay when it comes back.
const settled = 10 * time.Second

// people answer what a run asks.
func (t *trial) people(ctx context.Context, waiting []posthouse.Gate) {
	for i := range waiting {
		g := &waiting[i]
		if !g.AsksPeople() || g.Decision != nil {
			continue
		}
		made := false
		var p payment
		err := json.Unmarshal(g.Payload, &p)
		if err == nil && g.Kind == gate.KindOutcome {
			t.unknown[g.Thread], t.outcomes[g.ID] = true, true
			if t.Now().Sub(g.CreatedAt) < settled {
				continue
			}
			err = t.ear.hear()
			made = t.ear.told.made(place{p.Thread, p.Step})
		}
		var d posthouse.Decision
		if err == nil {
			d, err = decide(g, made)
		}
		if err == nil {
			err = p.decided(t.witness, g.ID, d)
		}
		if err != nil {
			t.wrong[g.Thread] = err.Error()
			continue
		}
		within, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, _ = t.led.Decide(within, g.ID, d) // else it is asked for again
		cancel()
	}
}

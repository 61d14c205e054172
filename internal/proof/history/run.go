package history

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/history/model"
	"github.com/posthouse/posthouse/internal/proof/site"
)

// A Run makes one history of each model, on a store of its own.
type Run struct {
	Site    *site.Site
	Seed    uint64
	Control string // a store that is broken in this way, and nothing else goes wrong; "": a sound one
	Small   bool   // with half as many operations, and at most one kill of each crew
}

const (
	clients = 4                      // of each model, in all crews
	ops     = 16                     // of a client in one life
	timeout = 500 * time.Millisecond // of calls to a server
)

// names makes stores' names unique.
var names atomic.Int64

// A making is a run on its way.
type making struct {
	*Run
	ctx   context.Context
	name  string
	ops   int      // of a client in one life
	lot   int      // clients of each model in a crew
	pipe  *os.File // where lines go
	store posthouse.Store
	out   *Result

	mu    sync.Mutex
	news  *sync.Cond
	lines []line
	of    map[int]int  // lines, by crew
	holds map[int]bool // whether a lease was a crew's when it last said so
	over  int          // crews that have ended
	err   error
}

// Do makes the history and checks it. The error is about the run itself, or about an answer
// that no store may give.
func (r *Run) Do(ctx context.Context) (*Result, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	m := &making{
		Run: r, ctx: ctx, name: fmt.Sprintf("h%x_%d", r.Seed, names.Add(1)), pipe: write, of: map[int]int{}, holds: map[int]bool{}, out: newResult(), ops: ops, lot: clients,
	}
	if r.Small {
		m.ops = ops / 2
	}
	if m.inPairs() {
		m.lot = clients / 2
	}
	m.news = sync.NewCond(&m.mu)
	defer context.AfterFunc(ctx, m.news.Broadcast)()
	var reading sync.WaitGroup
	reading.Go(func() { m.read(read) })
	if !r.Site.Kind.Durable {
		m.store, err = site.Open(ctx, r.Site.URL(m.name, ""), 0)
		if err != nil {
			m.fail(err)
		}
	}
	if err == nil {
		m.crews(rand.New(rand.NewPCG(r.Seed, 1)))
	}
	if m.store != nil {
		m.fail(m.store.Close())
	}
	m.fail(write.Close())
	reading.Wait()
	m.fail(read.Close())
	if err := errors.Join(m.err, ctx.Err()); err != nil {
		return m.out, fmt.Errorf("%s, seed %d: %w", r.Site.Kind.Name, r.Seed, err)
	}
	m.out.check(m.lines)
	return m.out, nil
}

func (m *making) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = errors.Join(m.err, err)
}

// read reads lines until every process that has the pipe is gone.
func (m *making) read(from io.Reader) {
	last := map[int]string{} // what each client called last
	text := bufio.NewScanner(from)
	for text.Scan() {
		var l line
		err := json.Unmarshal(text.Bytes(), &l)
		if err == nil && l.Failed != "" {
			err = errors.New(l.Failed)
		}
		if err != nil {
			m.fail(err)
		}
		m.mu.Lock()
		m.lines = append(m.lines, l)
		m.of[l.Client/100]++
		switch {
		case l.Op != nil:
			last[l.Client] = l.Op.Do
		case last[l.Client] == model.Commit || last[l.Client] == model.Release:
			m.holds[l.Client/100] = last[l.Client] == model.Commit && l.Out != nil && l.Out.Code == model.OK
		}
		m.mu.Unlock()
		m.news.Broadcast()
	}
}

// await waits until a condition holds, or the run ends.
func (m *making) await(holds func() bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !holds() && m.ctx.Err() == nil {
		m.news.Wait()
	}
}

// A plan is what chance has decided about a crew: in each life it is killed after so many
// lines, not if that is 0, and stopped for a while after so many.
type plan struct {
	kills []int
	stop  int
}

// inPairs reports whether there are two crews at once.
func (m *making) inPairs() bool { return m.Site.Kind.Shared || !m.Site.Kind.Durable }

// all is how many lines a crew writes in one life.
func (m *making) all() int { return 4 * 2 * m.ops * m.lot }

func (m *making) plans(rnd *rand.Rand) []plan {
	kind := m.Site.Kind
	plans := make([]plan, 1)
	if m.inPairs() {
		plans = make([]plan, 2)
	}
	for i := range plans {
		plans[i].kills = []int{0}
		if m.Control != "" || !kind.Durable {
			continue
		}
		for n := rnd.IntN(3); n > 0 && !(m.Small && len(plans[i].kills) > 1); n-- {
			plans[i].kills = append([]int{1 + rnd.IntN(m.all()*3/4)}, plans[i].kills...)
		}
	}
	if kind.Shared && m.Control == "" && rnd.IntN(2) == 0 {
		plans[0] = plan{kills: []int{0}, stop: 1 + rnd.IntN(m.all()/3)}
	}
	return plans
}

// crews runs all crews, and then one that reads what there is.
func (m *making) crews(rnd *rand.Rand) {
	plans := m.plans(rnd)
	var wg sync.WaitGroup
	for i, p := range plans {
		wg.Go(func() {
			for life, kill := range p.kills {
				m.life(1+i+10*life, kill, p.stop, false)
				p.stop = 0
			}
			m.mu.Lock()
			m.over++
			m.mu.Unlock()
			m.news.Broadcast()
		})
	}
	if m.Site.CanRestart() && m.Control == "" && rnd.IntN(3) == 0 {
		at := 1 + rnd.IntN(m.all())
		wg.Go(func() {
			m.await(func() bool { return len(m.lines) >= at || m.over == len(plans) })
			m.out.Restarts++
			m.fail(m.Site.Restart())
		})
	}
	wg.Wait()
	m.life(99, 0, 0, true)
}

// life runs a crew once.
func (m *making) life(crew, kill, stop int, audit bool) {
	o := order{Crew: crew, Seed: m.Seed, Clients: m.lot, Ops: m.ops, Broken: m.Control, Timeout: timeout}
	if audit {
		o.Clients, o.Ops, o.Broken, o.Timeout = 1, 0, "", 0
	}
	if m.store != nil {
		o.work(m.ctx, m.pipe, m.store)
		return
	}
	through := ""
	if network, addr := m.Site.Addr(); network != "" && m.Control == "" && !audit {
		p, err := site.NewProxy(network, addr, site.Faults{Late: 20, Delay: 5 * time.Millisecond, Stall: 600, StallFor: timeout + timeout/4, Cut: 300}, m.Seed+uint64(crew))
		if err != nil {
			m.fail(err)
			return
		}
		defer func() {
			p.Close()
			m.mu.Lock()
			m.out.Cuts += p.Cuts()
			m.mu.Unlock()
		}()
		through = p.Addr()
	}
	o.URL = m.Site.URL(m.name, through)
	if err := m.process(&o, kill, stop); err != nil {
		m.fail(fmt.Errorf("crew %d: %w", crew, err))
	}
}

// process runs a crew in a process of its own.
func (m *making) process(o *order, kill, stop int) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(m.ctx, own)
	cmd.Env = append(os.Environ(), orderEnv+"="+string(text))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = m.pipe, &said
	stdin, err := cmd.StdinPipe() // it ends with this process
	if err != nil {
		return err
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		return err
	}
	ended, killed := false, false
	var faults sync.WaitGroup
	faults.Go(func() {
		if stop > 0 { // while it has a lease
			m.await(func() bool { return ended || m.of[o.Crew] >= stop && m.holds[o.Crew] })
			m.stopped(cmd.Process, func() bool { return ended }, o.Crew)
		}
		if kill > 0 {
			m.await(func() bool { return ended || m.of[o.Crew] >= kill })
			m.mu.Lock()
			killed = !ended
			if killed {
				m.out.Kills++
				_ = cmd.Process.Kill()
			}
			m.mu.Unlock()
		}
	})
	err = cmd.Wait()
	m.mu.Lock()
	ended = true
	m.mu.Unlock()
	m.news.Broadcast()
	faults.Wait()
	if err != nil && !killed {
		return fmt.Errorf("%w: %.2000s", err, said.String())
	}
	return nil
}

// stopped stops a process until others have gone on without it for a while, and may have
// taken its leases.
func (m *making) stopped(p *os.Process, ended func() bool, crew int) {
	m.mu.Lock()
	others := len(m.lines) - m.of[crew]
	off := !ended() && halt(p, true)
	if off {
		m.out.Stops++
	}
	m.mu.Unlock()
	if off {
		pause(3 * leaseTTL)
		m.await(func() bool { return len(m.lines)-m.of[crew] > others+60 || m.over > 0 })
		halt(p, false)
	}
}

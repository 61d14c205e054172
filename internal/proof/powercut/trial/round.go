package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/posthouse/posthouse/internal/proof/powercut"
)

// A plan is what chance has decided about a round.
type plan struct {
	seed   uint64
	quiet  bool // nothing goes wrong: the store is checked, goes on and is closed
	faults powercut.Faults
	atOnce bool    // the faults are there from the start, not only after the check
	keep   float64 // of what was not synced

	kill   int           // of kills: after so many acknowledgements
	after  time.Duration // or so long after the start, if it is not 0
	server bool          // the server is killed, too
}

// draw makes a plan.
func draw(rnd *rand.Rand, s *site) (p plan) {
	p.seed = rnd.Uint64()
	p.keep = []float64{0, 0, 0.1, 0.5, 0.9, 0.99}[rnd.IntN(6)]
	p.atOnce = rnd.IntN(3) == 0
	p.faults = powercut.Faults{CutAt: 1 + rnd.IntN(1+rnd.IntN(500)), Lying: s.arm.lying}
	if p.atOnce {
		p.faults.CutAt = 1 + rnd.IntN(1+rnd.IntN(150))
		if s.store.starts > 0 {
			p.faults.CutAt = 1 + rnd.IntN(s.store.starts)
		}
	}
	if rnd.IntN(2) == 0 {
		p.faults.Lag = time.Millisecond / 2
	}
	switch rnd.IntN(10) {
	case 0:
		p.faults.SyncAt, p.faults.Sticky = 1+rnd.IntN(80), rnd.IntN(2) == 0
	case 1:
		p.faults.FullAt, p.faults.FullFor = 1+rnd.IntN(200), 1+rnd.IntN(60)
	}
	p.kill = rnd.IntN(1 + rnd.IntN(300))
	if rnd.IntN(4) == 0 {
		p.after = time.Duration(1+rnd.IntN(80)) * time.Millisecond
	}
	p.server = s.service != nil && rnd.IntN(2) == 0
	return p
}

// An outcome is what a round has shown.
type outcome struct {
	acks    []ack
	checked bool     // all that was acknowledged before was looked at
	lost    []string // acknowledgements that are not there
	corrupt []string // all else that is wrong
	kills   int
}

func (o *outcome) bad() bool { return len(o.lost)+len(o.corrupt) > 0 }

// round runs one round. The error is about the trial itself.
func (s *site) round(ctx context.Context, p plan) (o outcome, err error) {
	first := powercut.Faults{Lying: p.faults.Lying}
	if p.atOnce {
		first = p.faults
	}
	if p.quiet {
		first = powercut.Faults{Lying: p.faults.Lying}
	}
	err = s.up(first)
	switch {
	case err != nil && (s.disk == nil || s.mounted == nil):
		return o, err
	case err != nil && !s.disturbed():
		o.corrupt = append(o.corrupt, err.Error())
	case err == nil:
		if s.disk != nil && p.atOnce && !p.quiet && s.rounds == 0 {
			s.disk.Arm(first) // it was up before
		}
		if err := s.child(ctx, p, &o); err != nil {
			return o, err
		}
	}
	s.rounds++
	if s.disk != nil {
		s.disk.Off()
		if err := s.down(); err != nil {
			return o, err
		}
		s.disk.Cut(rand.New(rand.NewPCG(p.seed, 2)), p.keep)
	}
	return o, s.note(o.acks)
}

// child starts a child, hears it out and ends it as planned.
func (s *site) child(ctx context.Context, p plan, o *outcome) error {
	text, err := json.Marshal(order{Store: s.store.Name, URL: s.url, Weak: s.arm.weak, Early: s.arm.early, Acks: s.acks(), Seed: p.seed, Few: few(p)})
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // the child ends with it
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	e := &ending{site: s, plan: p, cmd: cmd, outcome: o}
	stop := e.watch(ctx)
	err = e.hear(out)
	stop()
	_ = cmd.Process.Kill()
	waited := cmd.Wait()
	_ = in.Close()
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case p.quiet && (waited != nil || !o.checked) && !o.bad():
		o.corrupt = append(o.corrupt, fmt.Sprintf("a store that nothing happened to: %v", waited))
	}
	return nil
}

func few(p plan) int {
	if p.quiet {
		return 20
	}
	return 0
}

// An ending listens to a child, and ends it.
type ending struct {
	site    *site
	plan    plan
	cmd     *exec.Cmd
	outcome *outcome
	patient *time.Timer
	asked   int // acknowledgements until the child is killed
	killed  bool
}

// silence is how long a child may say nothing before the power goes anyway, as when a
// server ended itself after a sync that failed.
const silence = 3 * time.Second

// watch kills everything when the power goes. The function that it returns ends that.
func (e *ending) watch(ctx context.Context) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	var off <-chan struct{}
	limit := 5 * time.Minute
	if e.site.disk != nil {
		off = e.site.disk.WhenOff()
		if !e.plan.quiet {
			limit = silence
		}
	}
	e.patient = time.NewTimer(limit)
	var timer <-chan time.Time
	if e.site.disk == nil && !e.plan.quiet && e.plan.after > 0 {
		timer = time.After(e.plan.after)
	}
	go func() {
		defer close(ended)
		select {
		case <-off:
			if e.site.service != nil {
				e.site.service.kill()
			}
		case <-timer:
		case <-e.patient.C:
			if e.site.disk != nil {
				e.site.disk.Off()
			}
		case <-ctx.Done():
		case <-done:
			return
		}
		_ = e.cmd.Process.Kill()
	}()
	return func() {
		close(done)
		<-ended
		e.patient.Stop()
	}
}

// hear reads what the child says, until it ends.
func (e *ending) hear(out io.Reader) error {
	s, o := e.site, e.outcome
	e.asked = e.plan.kill
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if s.disk != nil && !e.plan.quiet {
			e.patient.Reset(silence)
		}
		word, rest, _ := strings.Cut(lines.Text(), " ")
		a, ok := parseAck(lines.Text())
		switch {
		case ok:
			o.acks = append(o.acks, a)
			if err := e.kill(len(o.acks)); err != nil {
				return err
			}
		case word == "checked":
			o.checked = true
			if s.disk != nil && !e.plan.quiet && !e.plan.atOnce {
				s.disk.Arm(e.plan.faults)
			}
		case word == "lost" && !s.isOff():
			o.lost = append(o.lost, rest)
		case word == "fault" && !s.isOff():
			o.corrupt = append(o.corrupt, lines.Text())
		case word == "failed" && !s.disturbed() && !e.killed, word == "stopped" && !s.broken() && !e.killed:
			o.corrupt = append(o.corrupt, lines.Text())
		}
	}
	return nil // an error is a pipe of a process that is gone
}

// kill kills the child, or its server and then the child, once it has acknowledged enough.
func (e *ending) kill(acks int) error {
	s := e.site
	if s.disk != nil || e.plan.quiet || e.killed || acks <= e.asked {
		return nil
	}
	if e.plan.server {
		e.plan.server, e.asked = false, acks+20
		e.outcome.kills++
		s.service.kill()
		s.running = false
		return s.up(powercut.Faults{})
	}
	e.killed = true
	e.outcome.kills++
	return e.cmd.Process.Kill()
}

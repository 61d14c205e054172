package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/posthouse/posthouse/internal/proof/powercut"
)

// A Harness is a way to try a store.
type Harness string

// The harnesses.
const (
	Power Harness = "power" // cuts the power of a disk that is mounted with FUSE
	Kill  Harness = "kill"  // kills processes over a plain directory
)

// A Part is a series of rounds with one store.
type Part struct {
	Store   *Store
	Harness Harness
	Model   powercut.Model // of Power
	Rounds  int
	Seed    uint64
	NoArms  bool // the control arms are left out: they are tried elsewhere
}

// Options are how a part is run.
type Options struct {
	Keep     string                        // where disks that have lost something are kept; "": nowhere
	Progress func(format string, a ...any) // receives messages about the progress; may be nil
}

// A store is given up after so many rounds, or when it has acknowledged so much, since what
// it holds is checked in each round.
const (
	renew  = 12
	plenty = 700
)

// armRounds is how many cuts a control arm has to lose something.
const armRounds = 60

// Run runs the part. It stops early when ctx ends, and returns what it has found until
// then. The error is about the trial itself, or says that a control arm lost nothing.
func (p *Part) Run(ctx context.Context, o *Options) (*Line, error) {
	if o == nil {
		o = &Options{}
	}
	say := o.Progress
	if say == nil {
		say = func(string, ...any) {}
	}
	base, err := os.MkdirTemp("", "trial")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(base) }()
	if err := os.Chmod(base, 0o755); err != nil { // a server has another user
		return nil, err
	}
	line := &Line{Store: p.Store.Name, Harness: p.Harness, Model: string(p.Model), Seed: p.Seed, Arms: map[string]Arm{}}
	r := &runner{part: p, base: base, say: say, keep: o.Keep}
	if !p.NoArms {
		for _, a := range p.arms() {
			r.arm, r.line = a, &Line{}
			if err := r.run(ctx, armRounds, true); err != nil {
				return line, ignoreEnd(ctx, fmt.Errorf("%s of %s: %w", a.name, p.Store.Name, err))
			}
			line.Arms[a.name] = Arm{Rounds: r.line.rounds(), Lost: r.line.Lost + r.line.Corrupt}
			say("%s, control arm %q: %d lost in %d rounds", p.Store.Name, a.name, r.line.Lost+r.line.Corrupt, r.line.rounds())
			if ctx.Err() == nil && r.line.Lost+r.line.Corrupt == 0 {
				return line, fmt.Errorf("%s: %q lost nothing in %d rounds: the trial cannot see what it is for", p.Store.Name, a.name, armRounds)
			}
		}
	}
	r.arm, r.line = arm{}, line
	return line, ignoreEnd(ctx, r.run(ctx, p.Rounds, false))
}

// arms are the settings that must lose something under this harness: what a kill takes is
// what was never written.
func (p *Part) arms() []arm {
	if p.Harness == Kill {
		return []arm{early}
	}
	return p.Store.arms
}

// ignoreEnd returns nil for an error that is the end of ctx.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// A runner runs rounds on one site after the other.
type runner struct {
	part  *Part
	arm   arm
	line  *Line
	base  string
	keep  string
	say   func(string, ...any)
	sites int
	site  *site
}

// run runs rounds until there are enough, or, of an arm, something is lost.
func (r *runner) run(ctx context.Context, rounds int, untilLost bool) (err error) {
	rnd := rand.New(rand.NewPCG(r.part.Seed, uint64(len(r.arm.name))))
	defer func() {
		if r.site != nil {
			r.site.close()
			r.site = nil
		}
	}()
	for i := 0; i < rounds && ctx.Err() == nil; i++ {
		if r.site == nil {
			r.sites++
			r.site, err = newSite(r.part, r.arm, r.base, r.sites)
			if err != nil {
				return err
			}
		}
		p := draw(rnd, r.site)
		if err := r.round(ctx, p); err != nil {
			return err
		}
		if r.site != nil && (r.site.rounds >= renew || r.site.acknowledged >= plenty || i == rounds-1) {
			if err := r.round(ctx, plan{seed: rnd.Uint64(), quiet: true, faults: powercut.Faults{Lying: r.arm.lying}}); err != nil {
				return err
			}
			if r.site != nil {
				r.site.close()
				r.site = nil
			}
		}
		if untilLost && r.line.Lost+r.line.Corrupt > 0 {
			return nil
		}
		if (i+1)%25 == 0 && !untilLost {
			r.say("%s %s: %d of %d rounds, %d acknowledged, %d lost, %d corrupt", r.line.Store, r.line.Model, i+1, rounds, r.line.Acknowledged, r.line.Lost, r.line.Corrupt)
		}
	}
	return nil
}

// round runs one round and adds up. A site that has lost something is given up.
func (r *runner) round(ctx context.Context, p plan) error {
	before := r.site.repairs()
	o, err := r.site.round(ctx, p)
	if err != nil {
		return err
	}
	l := r.line
	l.Acknowledged += len(o.acks)
	l.Repaired += r.site.repairs() - before
	switch {
	case p.quiet:
	case r.part.Harness == Kill:
		l.Kills += max(o.kills, 1)
	default:
		l.Cuts++
	}
	l.Lost += len(o.lost)
	if len(o.corrupt) > 0 {
		l.Corrupt++
	}
	if !o.bad() {
		return nil
	}
	if r.arm == (arm{}) {
		r.say("%s %s: seed %d of the part, %d of the round, %d lost, wrong: %.400s", l.Store, l.Model, r.part.Seed, p.seed, len(o.lost), strings.Join(append(o.lost, o.corrupt...), ", "))
		if r.keep != "" {
			dir := filepath.Join(r.keep, fmt.Sprintf("%s-%s-%x", l.Store, l.Model, p.seed))
			if err := r.site.keep(dir); err != nil {
				return err
			}
			r.say("the disk is in %s", dir)
		}
	}
	r.site.close()
	r.site = nil
	return nil
}

package chaos

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/posthouse/posthouse/internal/proof/site"
)

// Disturbances counts what was done to a trial.
type Disturbances struct {
	Kills    int `json:"kills"`    // of engines and workers
	Freezes  int `json:"freezes"`  // of engines and workers, for up to 6 s
	Postgres int `json:"postgres"` // kills of the server
	NATS     int `json:"nats"`
	Stalls   int `json:"stalls,omitempty"` // of an engine's connections to Postgres, for up to 6 s
	Queue    int `json:"queue,omitempty"`  // times that the queue of hints was purged or deleted
}

// A monkey disturbs a trial.
type monkey struct {
	rnd            *rand.Rand
	processes      []*process
	proxies        []*site.Proxy
	postgres, nats *site.Site
	address        string // of nats
	say            func(format string, a ...any)
	done           Disturbances
}

// run disturbs until ctx ends, and leaves everything running.
func (m *monkey) run(ctx context.Context) error {
	for pause(ctx, time.Duration(100+m.rnd.IntN(900))*time.Millisecond) {
		p := m.processes[m.rnd.IntN(len(m.processes))]
		down := time.Duration(m.rnd.IntN(1000)) * time.Millisecond
		var err error
		switch m.rnd.IntN(15) {
		case 0:
			m.say("postgres is killed for %s", down)
			m.done.Postgres++
			err = m.restart(ctx, m.postgres, down)
		case 1:
			m.say("nats is killed for %s", down)
			m.done.NATS++
			err = m.restart(ctx, m.nats, down)
		case 12:
			m.say("the queue is wiped")
			err = m.wipe(ctx, m.rnd.IntN(2) == 0)
		case 13, 14:
			long, i := down*time.Duration(1+m.rnd.IntN(6)), m.rnd.IntN(len(m.proxies))
			m.say("engine %d is cut off from postgres for %s", i, long)
			m.done.Stalls++
			m.proxies[i].Stall(m.rnd.IntN(2) == 0)
			pause(ctx, long)
			m.proxies[i].Heal()
		case 2, 3, 4, 5, 6:
			m.say("%s is killed", p.order.Name)
			m.done.Kills++
			p.kill()
			err = p.start()
		default:
			long := down * time.Duration(1+m.rnd.IntN(6)) // leases are 3 s
			m.say("%s is frozen for %s", p.order.Name, long)
			m.done.Freezes++
			err = p.halt()
			if err == nil {
				pause(ctx, long)
				err = p.thaw()
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *monkey) restart(ctx context.Context, s *site.Site, down time.Duration) error {
	s.Kill()
	pause(ctx, down)
	return s.Again()
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

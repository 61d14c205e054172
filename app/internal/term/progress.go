package term

import (
	"fmt"
	"time"
)

// A Progress shows that long work goes on. It is silent in the first second; then
// it rewrites a line at a terminal, and elsewhere adds one each ten seconds.
type Progress struct {
	t     *Term
	now   func() time.Time
	start time.Time
	last  time.Time
	width int
}

// Progress returns the progress of work that begins now.
func (t *Term) Progress(now func() time.Time) *Progress {
	at := now()
	return &Progress{t: t, now: now, start: at, last: at}
}

// Update says how far the work is. It is cheap to call often.
func (p *Progress) Update(format string, args ...any) {
	now := p.now()
	every := 10 * time.Second
	if p.t.Interactive {
		every = 200 * time.Millisecond
	}
	if now.Sub(p.start) < time.Second || p.width > 0 && now.Sub(p.last) < every || p.t.Structured() {
		return
	}
	p.last = now
	line := fmt.Sprintf(format, stripped(args)...)
	if !p.t.Interactive {
		p.width = 1
		fmt.Fprintln(p.t.Err, line)
		return
	}
	fmt.Fprintf(p.t.Err, "\r%s", Pad(line, p.width))
	p.width = max(p.width, Width(line))
}

// During runs work and shows each second how long it has taken.
func (t *Term) During(now func() time.Time, what string, work func() error) error {
	p := t.Progress(now)
	done := make(chan error, 1)
	go func() { done <- work() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			p.Done()
			return err
		case <-tick.C:
			p.Update("%s, %s so far", what, p.now().Sub(p.start).Round(time.Second).String())
		}
	}
}

// Done takes the line away again.
func (p *Progress) Done() {
	if p.t.Interactive && p.width > 0 {
		fmt.Fprintf(p.t.Err, "\r%*s\r", p.width, "")
	}
}

// Status shows a line that the next one replaces, at a terminal only. An empty
// one removes the line.
func (t *Term) Status(format string, args ...any) {
	if !t.Interactive || t.Structured() {
		return
	}
	fmt.Fprintf(t.Err, "\r\x1b[K"+format, stripped(args)...)
}

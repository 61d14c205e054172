package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/proof/history/model"
)

// A client does one operation after the other and records them.
type client struct {
	r      recorder
	ctx    context.Context
	store  posthouse.Store
	rnd    *rand.Rand
	number int // of the client, in all crews
	n      int // of its operations
	open   int // of them without an answer
}

// A player is a client of one model.
type player interface {
	name() string
	play() error  // one operation, or a few; an error ends the client
	audit() error // reads all that can be read
	close()
}

// run does so many operations, or reads all if that is 0.
func (c *client) run(newPlayer func(*client) player, ops int) {
	p := newPlayer(c)
	defer p.close()
	defer func() {
		if v := recover(); v != nil {
			c.r.write(line{Failed: fmt.Sprintf("panic: %v %.3000s", v, debug.Stack())})
		}
	}()
	if ops == 0 {
		if err := p.audit(); err != nil {
			c.r.write(line{Client: c.number, Failed: fmt.Sprintf("%s: %.2000v", p.name(), err)})
		}
	}
	for tries := 0; c.n < ops && c.open < maxOpen && tries < 50*ops; tries++ {
		if err := p.play(); err != nil {
			c.r.write(line{Client: c.number, Failed: fmt.Sprintf("%s: %.2000v", p.name(), err)})
			return
		}
	}
}

// maxOpen is how many operations of a client may have no answer: each doubles what a check
// has to try.
const maxOpen = 4

// do records one operation. An operation with an unknown outcome has no answer, and such
// a read says nothing.
func (c *client) do(op model.Op, act func() (model.Answer, error)) (model.Answer, error) {
	c.n++
	c.r.write(line{Client: c.number, N: c.n, Op: &op})
	out, err := act()
	out.Code = codeOf(err)
	if out.Code == model.Unknown {
		c.open++
		return out, nil
	}
	c.r.write(line{Client: c.number, N: c.n, Out: &out})
	return out, known(op, err)
}

// codeOf returns an answer's code. A store that closes or cannot be reached, or a call that
// ends, leaves the outcome unknown: a Ledger reads after a write, too.
func codeOf(err error) string {
	var e *posthouse.Error
	switch {
	case err == nil:
		return model.OK
	case errors.Is(err, posthouse.ErrUnknown), errors.Is(err, posthouse.ErrUnavailable), errors.Is(err, posthouse.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return model.Unknown
	case errors.As(err, &e):
		return string(e.Code)
	}
	return "untyped: " + err.Error()
}

// known returns the error of an answer that no operation of the models may get.
func known(op model.Op, err error) error {
	switch codeOf(err) {
	case model.OK, model.Unknown, model.Conflict, model.NotFound, model.Fenced, model.Decided, model.Busy:
		return nil
	}
	return fmt.Errorf("%s of %s: %w", op.Do, op.Key, err)
}

// unknown reports whether an error leaves the outcome open: whoever only looked tries
// again.
func unknown(err error) bool { return codeOf(err) == model.Unknown }

// pause waits a little, as whoever asks again does.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// position writes a place in a log.
func position(p posthouse.Position) string {
	if p.Seq == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%x", p.Seq, p.Hash[:4])
}

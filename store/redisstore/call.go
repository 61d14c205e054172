package redisstore

import (
	"context"
	_ "embed" // the scripts
	"time"

	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/redisstore/internal/redis"
)

//go:embed lua/index.lua
var indexText string

//go:embed lua/append.lua
var appendText string

//go:embed lua/remove.lua
var removeText string

//go:embed lua/bodies.lua
var bodiesText string

//go:embed lua/slot.lua
var slotText string

//go:embed lua/open.lua
var openText string

//go:embed lua/read.lua
var readText string

//go:embed lua/list.lua
var listText string

//go:embed lua/threads.lua
var threadsText string

//go:embed lua/watch.lua
var watchText string

// The scripts. The server keeps them by their hashes; one that has forgotten a script gets
// its text again.
var (
	appendScript  = redis.NewScript(indexText + appendText)
	removeScript  = redis.NewScript(indexText + removeText)
	bodiesScript  = redis.NewScript(bodiesText)
	slotScript    = redis.NewScript(slotText)
	openScript    = redis.NewScript(openText)
	readScript    = redis.NewScript(readText)
	listScript    = redis.NewScript(listText)
	threadsScript = redis.NewScript(threadsText)
	watchScript   = redis.NewScript(watchText)
)

// A reply is the array that a script or command returns.
type reply []redis.Message

// text returns an element, "" for one that is not there.
func (r reply) text(i int) string {
	v, _ := r[i].Text()
	return v
}

func (r reply) number(i int) int {
	v, _ := r[i].Int()
	return int(v)
}

// run calls a script once.
func (s *Store) run(ctx context.Context, script *redis.Script, args ...string) (redis.Message, error) {
	return s.client.Run(ctx, script, s.prefix, args...)
}

// count calls a script that returns a number once.
func (s *Store) count(ctx context.Context, script *redis.Script, args ...string) (int64, error) {
	m, err := s.run(ctx, script, args...)
	if err != nil {
		return 0, err
	}
	return m.Int()
}

// ask is call for a script that only reads, or opens the store.
func (s *Store) ask(ctx context.Context, doing string, script *redis.Script, args ...string) (reply, error) {
	r, _, err := s.call(ctx, doing, script, args...)
	return r, away.Read(err)
}

// call calls a script that returns an array and may run any number of times. It also returns how
// often it called.
func (s *Store) call(ctx context.Context, doing string, script *redis.Script, args ...string) (r reply, tries int, err error) {
	err = s.retryUnknown(ctx, doing, func(ctx context.Context) error {
		tries++
		m, err := s.run(ctx, script, args...)
		if err == nil {
			r, err = m.List()
		}
		return err
	})
	return r, tries, err
}

// write is call for a script that writes. The caller cannot take back what was sent, so the
// end of its context does not end the call.
func (s *Store) write(ctx context.Context, doing string, script *redis.Script, args ...string) (reply, int, error) {
	if err := s.lifecycle.Writable(ctx); err != nil {
		return nil, 0, err
	}
	return s.call(context.WithoutCancel(ctx), doing, script, args...)
}

// get calls one command that reads.
func (s *Store) get(ctx context.Context, doing string, words ...string) (redis.Message, error) {
	m, err := s.do(ctx, doing, words...)
	return m, away.Read(err)
}

// do calls one command that may run any number of times.
func (s *Store) do(ctx context.Context, doing string, words ...string) (m redis.Message, err error) {
	err = s.retryUnknown(ctx, doing, func(ctx context.Context) error {
		m, err = s.client.Do(ctx, words...)
		return err
	})
	return m, err
}

// retryUnknown calls fn until the server answers, for as long as Options.Timeout.
func (s *Store) retryUnknown(ctx context.Context, doing string, fn func(ctx context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	var lost error
	for wait := newRetries(); ; {
		if err := s.lifecycle.Usable(ctx); err != nil {
			return err
		}
		err := s.wrap(doing, fn(within))
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil && !s.lifecycle.Closed():
			return ctx.Err()
		case !isLost(err):
			if lost != nil && isRefusal(err) {
				return s.unreachable(doing, lost) // the first attempt may have been done
			}
			return err
		case !wait.Next(within):
			return err
		}
		lost = err
		s.opts.Logger.Warn("posthouse: asking Redis again", "store", s.where, "doing", doing, "err", err)
	}
}

// newRetries returns waits for a server that may be back soon.
func newRetries() backoff.Retries {
	return backoff.NewRetries(5*time.Millisecond, 500*time.Millisecond)
}

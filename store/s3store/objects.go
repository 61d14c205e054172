package s3store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/backoff"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
)

// objects are those of a store: all below one prefix of its bucket. A request is made again
// until the service answers.
type objects struct {
	bucket    bucket
	prefix    string // of all keys
	where     string // for messages
	timeout   time.Duration
	logger    *slog.Logger
	lifecycle *lifecycle.State
}

// commitKey is where the commit of a number is.
func (o *objects) commitKey(number uint64) string {
	return fmt.Sprintf("%slog/%016x", o.prefix, number)
}

// manifestKey is where the manifest of a span of commits is.
func (o *objects) manifestKey(first, last uint64) string {
	return fmt.Sprintf("%s%s%016x-%016x", o.prefix, manifestPrefix, first, last)
}

// get reads an object, or a part of it.
func (o *objects) get(ctx context.Context, doing, key string, from, n int64) (got object, err error) {
	err = o.retryUnknown(ctx, doing, func(ctx context.Context) error {
		got, err = o.bucket.get(ctx, key, from, n)
		return err
	})
	return got, err
}

// put writes an object that any attempt may have written: of the same bytes each time.
// errTaken may be of an earlier attempt.
func (o *objects) put(ctx context.Context, doing, key string, data []byte, tag string) (got object, err error) {
	err = o.retryUnknown(ctx, doing, func(ctx context.Context) error {
		got, err = o.bucket.put(ctx, key, data, tag)
		return err
	})
	return got, err
}

// remove deletes an object, if it is there.
func (o *objects) remove(ctx context.Context, doing, key string) error {
	return o.retryUnknown(ctx, doing, func(ctx context.Context) error { return o.bucket.remove(ctx, key) })
}

// list returns the keys below a prefix in the store's that follow after, at most n; 0 for
// all.
func (o *objects) list(ctx context.Context, doing, prefix, after string, n int) (keys []string, err error) {
	err = o.retryUnknown(ctx, doing, func(ctx context.Context) error {
		keys, err = o.bucket.list(ctx, o.prefix+prefix, after, n)
		return err
	})
	return keys, err
}

// retryUnknown calls fn until the service answers, for as long as timeout. fn may run
// any number of times.
func (o *objects) retryUnknown(ctx context.Context, doing string, fn func(ctx context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	for wait := newRetries(); ; {
		if err := o.lifecycle.Usable(ctx); err != nil {
			return err
		}
		err := o.attempt(within, fn)
		switch {
		case err == nil || isAnswer(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !o.lost(err):
			return o.wrap(doing, err)
		}
		o.logger.Warn("posthouse: asking the service again", "store", o.where, "doing", doing, "err", err)
		if !wait.Next(within) {
			return o.wrap(doing, err)
		}
	}
}

// attempt gives one request a part of the time, so that one that hangs is asked again.
func (o *objects) attempt(ctx context.Context, fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, o.timeout/3)
	defer cancel()
	return fn(ctx)
}

// isAnswer reports whether an error is one that the caller looks for.
func isAnswer(err error) bool {
	return errors.Is(err, errAbsent) || errors.Is(err, errTaken) || errors.Is(err, errRange)
}

// lost reports whether the error leaves open what became of a request.
func (o *objects) lost(err error) bool {
	var ours *posthouse.Error
	return err != nil && !isAnswer(err) && !errors.Is(err, errRefused) && !errors.As(err, &ours)
}

// newRetries returns waits for a service that may be back soon.
func newRetries() backoff.Retries { return backoff.NewRetries(10*time.Millisecond, time.Second) }

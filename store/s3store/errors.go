package s3store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/backoff"
)

// settle calls fn until the service answers, for as long as Options.Timeout. fn may run
// any number of times.
func (s *Store) settle(ctx context.Context, doing string, fn func(ctx context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	for wait := newRetries(); ; {
		if err := s.lifecycle.Usable(ctx); err != nil {
			return err
		}
		err := s.attempt(within, fn)
		switch {
		case err == nil || isAnswer(err):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !s.lost(err):
			return s.wrap(doing, err)
		}
		s.opts.Logger.Warn("posthouse: asking the service again", "store", s.where, "doing", doing, "err", err)
		if !wait.Next(within) {
			return s.wrap(doing, err)
		}
	}
}

// attempt gives one request a part of the time, so that one that hangs is asked again.
func (s *Store) attempt(ctx context.Context, fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout/3)
	defer cancel()
	return fn(ctx)
}

// isAnswer reports whether an error is one that the caller looks for.
func isAnswer(err error) bool {
	return errors.Is(err, errAbsent) || errors.Is(err, errTaken) || errors.Is(err, errRange)
}

// lost reports whether the error leaves open what became of a request.
func (s *Store) lost(err error) bool {
	var ours *posthouse.Error
	return err != nil && !isAnswer(err) && !errors.Is(err, errRefused) && !errors.As(err, &ours)
}

// wrap turns an error of the client into one of ours. doing says what failed. It passes on
// errors that are ours already.
func (s *Store) wrap(doing string, err error) error {
	var ours *posthouse.Error
	var refused *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return ours
	case s.lifecycle.Closed():
		return s.lifecycle.ClosedError()
	case errors.Is(err, context.Canceled):
		return err
	case !errors.As(err, &refused):
		return &posthouse.Error{
			Code: posthouse.CodeUnknown, Message: "cannot " + doing + ": " + s.where + " does not answer", Err: err,
			Hint: "try again once the service can be reached: repeating is safe",
		}
	}
	e := &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "cannot " + doing + " in " + s.where, Err: err, Hint: "look at what the service says"}
	r := refused.answer
	switch {
	case r.Code == "NoSuchBucket":
		e.Code, e.Hint = posthouse.CodeNotFound, "create the bucket, or check its name, the endpoint and the region"
	case r.StatusCode == http.StatusNotImplemented:
		e.Code, e.Hint = posthouse.CodeUnsupported, "use a service that has conditional writes (If-None-Match and If-Match)"
	case r.StatusCode == http.StatusInsufficientStorage, r.Code == "QuotaExceeded", r.Code == "XMinioStorageFull":
		e.Code, e.Hint = posthouse.CodeFull, "nothing was written; free space or raise the quota, and try again"
	case r.StatusCode == http.StatusUnauthorized, r.StatusCode == http.StatusForbidden:
		e.Code, e.Hint = posthouse.CodeForbidden, "check the credentials, and that they may get, put, delete and list objects under the prefix"
	}
	return e
}

// corrupt is damage in one of the store's objects.
func (s *Store) corrupt(key string, format string, args ...any) error {
	return &posthouse.Error{
		Code: posthouse.CodeCorrupt, Message: "the object " + key + " of the store " + s.where + " is damaged", Err: fmt.Errorf(format, args...),
		Hint: "stop writing, and restore the object from a backup",
	}
}

// newRetries returns waits for a service that may be back soon.
func newRetries() backoff.Retries { return backoff.NewRetries(10*time.Millisecond, time.Second) }

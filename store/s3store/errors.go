package s3store

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/posthouse/posthouse"
)

// wrap turns an error of the client into one of ours. doing says what failed. It passes on
// errors that are ours already.
func (o *objects) wrap(doing string, err error) error {
	var ours *posthouse.Error
	var refused *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return ours
	case o.lifecycle.Closed():
		return o.lifecycle.ClosedError()
	case errors.Is(err, context.Canceled):
		return err
	case !errors.As(err, &refused):
		return &posthouse.Error{
			Code: posthouse.CodeUnknown, Message: "cannot " + doing + ": " + o.where + " does not answer", Err: err,
			Hint: "try again once the service can be reached: repeating is safe",
		}
	}
	e := &posthouse.Error{Code: posthouse.CodeReadOnly, Message: "cannot " + doing + " in " + o.where, Err: err, Hint: "look at what the service says"}
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

// unsure is the error of a write that may have been done.
func (o *objects) unsure(err error) error {
	return &posthouse.Error{
		Code: posthouse.CodeUnknown, Message: "cannot commit: " + o.where + " does not answer", Err: err,
		Hint: "try again once the service can be reached: repeating is safe",
	}
}

// corrupt is damage in one of the store's objects.
func (o *objects) corrupt(key string, format string, args ...any) error {
	return &posthouse.Error{
		Code: posthouse.CodeCorrupt, Message: "the object " + key + " of the store " + o.where + " is damaged", Err: fmt.Errorf(format, args...),
		Hint: "stop writing, and restore the object from a backup",
	}
}

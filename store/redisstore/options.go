package redisstore

import (
	"errors"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/redisstore/internal/redis"
)

// Options are the settings of a store. The zero value, or nil, is a good one.
type Options struct {
	// Prefix begins all keys of the store, one for each store in a database; default
	// "posthouse". It is 1 to 100 letters, digits and . _ : -. The URL may name it, as in
	// ?prefix=desk.
	Prefix string

	// ReadOnly opens an existing store for reading, also on a replica. Every write fails
	// with ErrReadOnly.
	ReadOnly bool

	// AllowWeak accepts a server with settings that lose acknowledged writes, or one that
	// does not tell its settings. Without it Open fails with ErrUnsupported.
	AllowWeak bool

	// Poll is how often a watch looks for entries that no message told of; default 250 ms.
	Poll time.Duration

	// Timeout is how long a call tries to reach a server that does not answer; default
	// 10 s. A write without an answer by then is ErrUnknown, a read ErrUnavailable.
	Timeout time.Duration

	// Logger receives lost connections and weak settings. By default nothing is logged.
	Logger *slog.Logger
}

var prefixes = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,100}$`)

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Poll == 0 {
		v.Poll = 250 * time.Millisecond
	}
	if v.Timeout == 0 {
		v.Timeout = 10 * time.Second
	}
	if v.Logger == nil {
		v.Logger = slog.New(slog.DiscardHandler)
	}
	return v
}

// configure reads the URL. Settings of ours in the URL fill in those that o leaves empty.
func (o *Options) configure(text string) (client redis.Options, err error) {
	u, err := url.Parse(text)
	if err == nil && u.Opaque != "" {
		err = errors.New("no host")
	}
	if err == nil {
		q := u.Query()
		if o.Prefix == "" {
			o.Prefix = q.Get("prefix")
		}
		q.Del("prefix")
		u.RawQuery = q.Encode()
		u.Scheme = strings.ToLower(u.Scheme)
		client, err = redis.Parse(u)
	}
	if err != nil {
		e := posthouse.Invalid("store", "is not the URL of a Redis server")
		e.Hint = "write redis://user:password@host:6379/0, or rediss: for TLS"
		return client, e // without the cause, which may have the password
	}
	if o.Prefix == "" {
		o.Prefix = "posthouse"
	}
	switch {
	case !prefixes.MatchString(o.Prefix):
		return client, posthouse.Invalid("Prefix", "%.120q is not 1 to 100 letters, digits and . _ : -", o.Prefix)
	case o.Poll < 0:
		return client, posthouse.Invalid("Poll", "is negative")
	case o.Timeout < 0:
		return client, posthouse.Invalid("Timeout", "is negative")
	case client.Several:
		return client, &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: "a store is on one Redis server, not on several",
			Hint: "name the primary only: after a failover acknowledged entries may be gone",
		}
	}
	client.Timeout, client.DialTimeout = o.Timeout, min(o.Timeout, 5*time.Second)
	if client.ClientName == "" {
		client.ClientName = "posthouse"
	}
	return client, nil
}

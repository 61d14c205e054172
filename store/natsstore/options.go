package natsstore

import (
	"cmp"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Options are the settings of a store. The zero value, or nil, is a good one.
type Options struct {
	// Prefix begins the names of the store's streams, one for each store of an account or
	// directory; default "posthouse". It is 1 to 32 letters, digits, _ and -. The URL may
	// name it, as in ?prefix=desk.
	Prefix string

	// ReadOnly opens an existing store for reading. Every write fails with ErrReadOnly. A
	// directory that another process has open cannot be opened so either.
	ReadOnly bool

	// Replicas is how many servers of a cluster keep the streams that Open makes: 1, 3 or
	// 5; default 3 in a cluster, else 1. The URL may say it, as in ?replicas=5. It does not
	// change streams that are there.
	Replicas int

	// AllowWeak accepts streams that lose acknowledged writes, see [Store.Weak]. Without it
	// Open fails with ErrUnsupported.
	AllowWeak bool

	// Credentials is the path of a file with a user's JWT and key, for a server that asks
	// for one. The URL may name it, as in ?creds=PATH.
	Credentials string

	// Timeout is how long a call tries to reach a server that does not answer; default
	// 10 s. A write without an answer by then is ErrUnknown, a read ErrUnavailable.
	Timeout time.Duration

	// Logger receives lost connections, weak settings, and warnings of the server in this
	// process. By default nothing is logged.
	Logger *slog.Logger

	grace time.Duration // in tests: another age of leftover chunks
	lazy  bool          // in tests: the server in this process does not sync each write
}

const defaultPrefix = "posthouse"

var prefixes = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Timeout == 0 {
		v.Timeout = 10 * time.Second
	}
	if v.Logger == nil {
		v.Logger = slog.New(slog.DiscardHandler)
	}
	return v
}

// configure reads the URL: the servers to connect to, or the directory to keep a server's
// files in. Settings of ours in the URL fill in those that o leaves empty.
func (o *Options) configure(text string) (servers, dir string, err error) {
	text, query, _ := strings.Cut(strings.TrimSpace(text), "?")
	bad := func() error {
		e := posthouse.Invalid("store", "is not the URL of a NATS server or directory")
		e.Hint = "write nats://user:password@host:4222, or tls:, or nats:DIR for a server in this process"
		return e // without the URL, which may have the password
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return "", "", bad()
	}
	for name := range q {
		switch value := q.Get(name); name {
		case "prefix":
			o.Prefix = cmp.Or(o.Prefix, value)
		case "creds":
			o.Credentials = cmp.Or(o.Credentials, value)
		case "replicas":
			n, err := strconv.Atoi(value)
			if err != nil {
				return "", "", posthouse.Invalid("Replicas", "%.20q is no number", value)
			}
			if o.Replicas == 0 {
				o.Replicas = n
			}
		default:
			return "", "", bad()
		}
	}
	o.Prefix = cmp.Or(o.Prefix, defaultPrefix)
	switch {
	case !prefixes.MatchString(o.Prefix):
		return "", "", posthouse.Invalid("Prefix", "%.40q is not 1 to 32 letters, digits, _ and -", o.Prefix)
	case o.Replicas != 0 && o.Replicas != 1 && o.Replicas != 3 && o.Replicas != 5:
		return "", "", posthouse.Invalid("Replicas", "is %d, not 1, 3 or 5", o.Replicas)
	case o.Timeout < 0:
		return "", "", posthouse.Invalid("Timeout", "is negative")
	}
	scheme, rest, ok := strings.Cut(text, ":")
	scheme = strings.ToLower(scheme)
	switch host, isURL := strings.CutPrefix(rest, "//"); {
	case !ok || scheme != "nats" && scheme != "tls":
		return "", "", bad()
	case isURL && host != "" && host[0] != '/':
		for one := range strings.SplitSeq(host, ",") {
			one = strings.TrimPrefix(strings.TrimSpace(one), scheme+"://") // some write it before each
			if u, err := url.Parse(scheme + "://" + one); err != nil || u.Host == "" || u.Path != "" && u.Path != "/" {
				return "", "", bad()
			}
			servers += "," + scheme + "://" + strings.TrimSuffix(one, "/")
		}
		return servers[1:], "", nil
	case scheme == "tls":
		return "", "", bad()
	case isURL:
		rest = host
	}
	if rest == "" {
		return "", "", bad()
	}
	return "", rest, nil
}

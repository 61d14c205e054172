package s3store

import (
	"cmp"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
)

// Options are the settings of a store. The zero value, or nil, is a good one.
type Options struct {
	// Endpoint is the service's address, host:port or a URL; default: what
	// AWS_ENDPOINT_URL_S3 says, else Amazon's. The URL may name it, as in
	// ?endpoint=s3.example.com.
	Endpoint string

	// Region is the bucket's region; default: what AWS_REGION says, else "us-east-1" unless
	// the service is Amazon's, which is asked. The URL may name it, as in ?region=eu-west-1.
	Region string

	// Insecure uses HTTP instead of HTTPS. The URL may say it, as in ?insecure=true.
	Insecure bool

	// AccessKey, SecretKey and SessionToken are the credentials; default: those of the
	// environment (AWS_ACCESS_KEY_ID and so on), of ~/.aws/credentials, or of the machine's
	// role, in this order.
	AccessKey    string
	SecretKey    string
	SessionToken string

	// ReadOnly opens an existing store for reading. Every write fails with ErrReadOnly.
	ReadOnly bool

	// AllowVersions accepts a bucket that keeps old versions of its objects. Then removed
	// bytes stay until a rule of the bucket ends its old versions, and so does each beat of
	// a process. Without it Open fails with ErrUnsupported.
	AllowVersions bool

	// Poll is how often a watch asks for the next commit; default 1 s. Each time is one
	// request.
	Poll time.Duration

	// Timeout is how long a call tries to reach a service that does not answer; default
	// 30 s. A write without an answer by then is ErrUnknown, a read ErrUnavailable.
	Timeout time.Duration

	// Logger receives lost answers. By default nothing is logged.
	Logger *slog.Logger

	now func() time.Time // says only when to let another process go first
}

// A target is what a URL names.
type target struct {
	bucket, prefix string // the prefix is empty or ends with a slash
}

func (t target) String() string { return "s3://" + t.bucket + "/" + strings.TrimSuffix(t.prefix, "/") }

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	v.Poll = cmp.Or(v.Poll, time.Second)
	v.Timeout = cmp.Or(v.Timeout, 30*time.Second)
	if v.Logger == nil {
		v.Logger = slog.New(slog.DiscardHandler)
	}
	v.now = time.Now
	return v
}

// configure reads the URL. Settings of ours in the URL fill in those that o leaves empty.
func (o *Options) configure(text string) (t target, err error) {
	u, err := url.Parse(text)
	if err != nil || !strings.EqualFold(u.Scheme, "s3") || u.Host == "" || u.User != nil {
		e := posthouse.Invalid("store", "is not the URL of a bucket")
		e.Hint = "write s3://bucket/prefix?endpoint=host&region=name; credentials come from the environment, a file or the machine's role"
		return t, e // without the cause, which may have a secret
	}
	q := u.Query()
	for name, values := range q {
		switch value := values[0]; name {
		case "endpoint":
			o.Endpoint = cmp.Or(o.Endpoint, value)
		case "region":
			o.Region = cmp.Or(o.Region, value)
		case "insecure":
			if value != "true" && value != "false" {
				return t, posthouse.Invalid("store", "says insecure=%.20s; write true or false", value)
			}
			o.Insecure = o.Insecure || value == "true"
		default:
			return t, posthouse.Invalid("store", "says %.40q, which is not known; endpoint, region and insecure are", name)
		}
	}
	o.Endpoint = cmp.Or(o.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), "s3.amazonaws.com")
	o.Region = cmp.Or(o.Region, os.Getenv("AWS_REGION"))
	if at, ok := strings.CutPrefix(o.Endpoint, "http://"); ok {
		o.Endpoint, o.Insecure = at, true
	}
	o.Endpoint = strings.TrimSuffix(strings.TrimPrefix(o.Endpoint, "https://"), "/")
	t = target{bucket: u.Host, prefix: strings.Trim(u.Path, "/")}
	if t.prefix != "" {
		t.prefix += "/"
	}
	switch {
	case len(t.prefix) > maxPrefix:
		return t, posthouse.Invalid("store", "has a prefix of %d bytes; the limit is %d", len(t.prefix), maxPrefix)
	case o.Poll < 0:
		return t, posthouse.Invalid("Poll", "is negative")
	case o.Timeout < 0:
		return t, posthouse.Invalid("Timeout", "is negative")
	}
	return t, nil
}

// maxPrefix leaves room for the longest key: a service takes 1,024 bytes.
const maxPrefix = 200

package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
)

// Options say where a receiver is and how it knows the sender. URL and one of Secret and SecretFile are
// required.
type Options struct {
	URL string // with https, or with http if Insecure is set; without a user, a password or a fragment

	// SecretFile has one secret a line, the newest first; lines that begin with # are comments. Each message
	// is signed with all of them, at most 4. It is read again when it changes. To rotate, put the
	// new secret on a line above the old one, give it to the receiver, and take the old line out.
	SecretFile string
	Secret     string // a secret itself, in place of a file

	Allow    []string // networks that are allowed though they are not public, as in 10.1.0.0/16 or 127.0.0.1
	Insecure bool     // http is allowed: others on the way can read and keep messages

	Now func() time.Time // the clock of timestamps; default time.Now
}

// Bounds on an exchange.
const (
	maxURL    = 2000
	maxAnswer = 64 << 10
)

// A Webhook is a [notify.Channel] to an HTTP receiver. Make one with [New].
type Webhook struct {
	url     string
	shown   string
	secrets func() ([]*Secret, error)
	client  *http.Client
	now     func() time.Time
}

// New returns the channel of a receiver. [posthouse.ErrInvalid] names the option at fault; secrets are
// read, and nothing is sent.
func New(o *Options) (*Webhook, error) {
	u, err := parseURL(o.URL, o.Insecure)
	if err != nil {
		return nil, err
	}
	w := &Webhook{url: u.String(), now: o.Now}
	w.shown = shown(u)
	if w.now == nil {
		w.now = time.Now
	}
	w.secrets, err = secretsOf(o)
	if err != nil {
		return nil, err
	}
	g := new(guard)
	g.allow, err = parseNetworks(o.Allow)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: g.control}
	w.client = &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxAnswer,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return w, nil
}

func parseURL(s string, insecure bool) (*url.URL, error) {
	invalid := func(what string) (*url.URL, error) {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "url", Message: what, Hint: "as in https://ops.example.com/posthouse"}
	}
	u, err := url.Parse(s)
	switch {
	case s == "":
		return invalid("is missing")
	case len(s) > maxURL:
		return invalid("is longer than " + strconv.Itoa(maxURL) + " bytes")
	case err != nil || u.Host == "" || u.Opaque != "":
		return invalid("is no address")
	case u.User != nil:
		return invalid("has a user or a password: the signature is what proves the sender")
	case u.Fragment != "":
		return invalid("has a fragment, which is never sent")
	case u.Scheme == "http" && !insecure:
		return invalid("begins with http: use https, or set insecure if others may read and keep messages on the way")
	case u.Scheme != "http" && u.Scheme != "https":
		return invalid("does not begin with https://")
	}
	return u, nil
}

func secretsOf(o *Options) (func() ([]*Secret, error), error) {
	switch {
	case o.Secret != "" && o.SecretFile != "":
		return nil, posthouse.Invalid("secret", "and secretFile exclude each other")
	case o.Secret != "":
		s, err := ParseSecret(o.Secret)
		return func() ([]*Secret, error) { return []*Secret{s}, nil }, err
	case o.SecretFile == "":
		return nil, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "secretFile", Message: "is missing: a receiver must know who sends",
			Hint: "posthouse webhook secret makes a secret; put it into a file, and give it to the receiver",
		}
	}
	f := &secretFile{path: o.SecretFile}
	_, err := f.load()
	return f.load, err
}

// Kind returns "webhook".
func (*Webhook) Kind() string { return "webhook" }

// shown returns a URL without its path and query, which may be secrets: many services know who sends by the path
// alone. What is left out is told apart by the first digits of its hash.
func shown(u *url.URL) string {
	bare := url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}
	if (u.Path == "" || u.Path == "/") && u.RawQuery == "" {
		return bare.String()
	}
	sum := sha256.Sum256([]byte(u.RequestURI()))
	return bare.String() + "… (" + hex.EncodeToString(sum[:4]) + ")"
}

// Address returns the URL without its path and query, with a few digits that tell it from others of the
// same host.
func (w *Webhook) Address() string { return w.shown }

// ApprovalKeys returns the secrets, the newest first: tokens for the receiver follow from that one, and end
// when it is taken out of the file.
func (w *Webhook) ApprovalKeys() ([][]byte, error) {
	secrets, err := w.secrets()
	return keysOf(secrets), err
}

// Close closes connections that are not in use. A webhook may be used after it.
func (w *Webhook) Close() { w.client.CloseIdleConnections() }

// Deliver posts a message. Its errors are [notify.Failure]s.
func (w *Webhook) Deliver(ctx context.Context, m *notify.Message) error {
	body, err := json.Marshal(m.Event)
	if err != nil {
		return &notify.Failure{Message: "the event cannot be written as JSON: " + err.Error()}
	}
	secrets, err := w.secrets()
	if err != nil {
		return &notify.Failure{Message: err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return &notify.Failure{Message: "the request cannot be made"}
	}
	at := w.now()
	signatures := make([]string, len(secrets))
	for i, s := range secrets {
		signatures[i] = s.Sign(m.ID, at, body)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "posthouse")
	req.Header.Set(headerID, m.ID)
	req.Header.Set(headerTimestamp, strconv.FormatInt(at.Unix(), 10))
	req.Header.Set(headerSignature, strings.Join(signatures, " "))
	res, err := w.client.Do(req)
	if err != nil {
		return &notify.Failure{Message: explain(err)}
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer)); err != nil && ctx.Err() != nil {
		return &notify.Failure{Message: "the answer did not come to its end in time", Status: res.StatusCode}
	}
	return judge(res, at)
}

// explain returns why there was no answer, without the address, which may have a secret.
func explain(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "there was no answer in time"
	}
	return err.Error()
}

// judge returns what an answer says of a delivery.
func judge(res *http.Response, now time.Time) error {
	code := res.StatusCode
	f := &notify.Failure{Status: code, Message: "the receiver answered " + strconv.Itoa(code)}
	if text := http.StatusText(code); text != "" {
		f.Message += " " + text
	}
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		f.Message += ": redirects are not followed, give its final address"
	case code == http.StatusGone:
		f.Gone = true
		f.Message += ": it wants no more messages"
	}
	f.After = retryAfter(res.Header.Get("Retry-After"), now)
	return f
}

// retryAfter reads a Retry-After header, 0 if it says nothing that can be used.
func retryAfter(s string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

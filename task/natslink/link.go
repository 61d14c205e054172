package natslink

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/loopback"
	"github.com/posthouse/posthouse/task"
	"github.com/posthouse/posthouse/task/deadletter"
	"github.com/posthouse/posthouse/task/hint"
	"github.com/posthouse/posthouse/task/link"
	"github.com/posthouse/posthouse/task/natshint"
	"github.com/posthouse/posthouse/task/natstask"
)

// A natsLink is a connection to NATS, and its server if that is in this process.
type natsLink struct {
	conn    *nats.Conn
	tasks   natstask.Options
	relay   *natstask.Relay
	queue   *natshint.Queue // nil with a server in this process, which one engine uses
	address string
	own     *ownServer

	closing sync.Once
	closed  chan struct{}
}

var _ link.Opener = Open

// Open connects to the servers of a URL, or starts one that listens. It fails with
// [posthouse.ErrUnavailable] if no server answers, with [posthouse.ErrForbidden] if they
// refuse this user, and with [posthouse.ErrInvalid] for an option that does not fit. Once
// it is open, a connection that is lost is made again.
func Open(ctx context.Context, o *link.Options) (link.Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o == nil {
		o = &link.Options{}
	}
	l := &natsLink{closed: make(chan struct{})}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	servers, options, err := "", []nats.Option(nil), error(nil)
	l.tasks.Logger, l.tasks.Pass, l.tasks.Worker = log, o.Pass, o.Worker
	switch {
	case o.URL != "" && o.Listen != "":
		return nil, invalid("Listen", "and a URL of other servers exclude each other", "connect to servers elsewhere, or listen in this process")
	case o.URL != "":
		servers, options, err = l.elsewhere(o)
	case o.Listen != "":
		options, err = l.listen(o, log)
	default:
		return nil, invalid("URL", "is missing, and so is Listen", "give the URL of a NATS server, or an address to listen on")
	}
	if err == nil {
		l.conn, err = nats.Connect(servers, append(options, l.lasting(log)...)...)
		err = l.connectError(err)
	}
	if err == nil {
		l.relay, err = natstask.NewRelay(l.conn, &l.tasks)
	}
	if err == nil {
		err = l.letters(log)
	}
	if err != nil {
		_ = l.Close() // nothing of it has been used
		return nil, err
	}
	return l, nil
}

// letters opens the box of dead letters, and the queue where engines meet at servers elsewhere.
// Neither asks the servers yet, because a worker may not use JetStream.
func (l *natsLink) letters(log *slog.Logger) (err error) {
	if l.own != nil {
		l.tasks.Letters = deadletter.NewMemory(time.Now)
		return nil
	}
	l.queue, err = natshint.New(l.conn, &natshint.Options{Prefix: l.tasks.Prefix, Logger: log})
	if err == nil {
		l.tasks.Letters = deadletter.Beside(l.queue, time.Now)
	}
	return err
}

// lasting are the options of a connection that is made again whenever it is lost.
func (l *natsLink) lasting(log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.Name("posthouse tasks"), nats.Timeout(5 * time.Second), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		// A request that waits for a connection is late: the caller asks again.
		nats.ReconnectBufSize(-1), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			log.Warn("posthouse: NATS", "at", l.address, "error", err)
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			select {
			case <-l.closed:
			default:
				log.Warn("posthouse: the connection to NATS is lost", "at", l.address, "error", err)
			}
		}),
	}
}

// elsewhere reads a URL and returns the servers, and how to connect to them.
func (l *natsLink) elsewhere(o *link.Options) (servers string, options []nats.Option, err error) {
	at, query, _ := strings.Cut(strings.TrimSpace(o.URL), "?")
	bad := func() error { // without the URL, which may have a password
		return invalid("URL", "is not the URL of NATS servers", "write tls://host:4222, or tls://user:password@host:4222, several with commas between")
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return "", nil, bad()
	}
	for name := range q {
		if name != "prefix" {
			return "", nil, bad()
		}
	}
	l.tasks.Prefix = q.Get("prefix")
	if _, err := natstask.NewEngine(nil, &l.tasks); err != nil {
		return "", nil, err
	}
	scheme, rest, _ := strings.Cut(at, "://")
	if scheme != "nats" && scheme != "tls" {
		return "", nil, bad()
	}
	var all, hosts []string
	user, beyond := false, false
	for one := range strings.SplitSeq(rest, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), scheme+"://")
		u, err := url.Parse(scheme + "://" + one)
		if err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" {
			return "", nil, bad()
		}
		all, hosts = append(all, strings.TrimSuffix(u.String(), "/")), append(hosts, scheme+"://"+u.Host)
		user, beyond = user || u.User != nil, beyond || !loopback.Is(u.Hostname())
	}
	l.address = strings.Join(hosts, ",")
	options, err = certificates(o)
	if err != nil {
		return "", nil, err
	}
	const hint = "write tls:// instead of nats://"
	clear := beyond && scheme != "tls" && o.CA == "" && o.Cert == "" // certificates require TLS, whatever the scheme
	switch {
	case user && clear:
		return "", nil, invalid("URL", "is another machine reached without TLS: the user's password could be read on the way", hint)
	case o.Credentials != "":
		if _, err := os.Stat(o.Credentials); err != nil {
			return "", nil, unreadable("Credentials", err)
		}
		options = append(options, nats.UserCredentials(o.Credentials))
	case o.Token != "" && !user && clear:
		return "", nil, invalid("URL", "is another machine reached without TLS: the token could be read on the way", hint)
	case o.Token != "" && !user:
		options = append(options, nats.Token(o.Token))
		l.tasks.Worker = link.AddressOf(sha256.Sum256([]byte(o.Token)))
	}
	return strings.Join(all, ","), options, nil
}

// certificates are the options of a client's TLS.
func certificates(o *link.Options) (options []nats.Option, err error) {
	if (o.Cert == "") != (o.Key == "") {
		return nil, invalid("Cert", "and Key belong together", "give both, or none")
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, unreadable("CA", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, invalid("CA", "has no certificate", "give a file in PEM")
		}
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, unreadable("Cert", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if o.CA == "" && o.Cert == "" {
		return nil, nil // as the URL says
	}
	return []nats.Option{nats.Secure(c)}, nil
}

// connectError says what went wrong with a connection, without the URL.
func (l *natsLink) connectError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		return &posthouse.Error{
			Code: posthouse.CodeForbidden, Message: "the NATS server at " + l.address + " refuses this user", Err: err,
			Hint: "look at the credentials, or at the token and its role",
		}
	case errors.Is(err, nats.ErrSecureConnWanted), errors.Is(err, nats.ErrSecureConnRequired):
		return &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "URL", Message: "and the server at " + l.address + " do not agree on TLS", Err: err, Hint: "write tls:// for a server with a certificate",
		}
	}
	return &posthouse.Error{
		Code: posthouse.CodeUnavailable, Message: "no NATS server answers at " + l.address, Err: err, Hint: "look at the address, the certificate and the network, and try again",
	}
}

// Serve implements [link.Link].
func (l *natsLink) Serve(e task.Engine) (stop func(), err error) {
	return natstask.Serve(l.conn, e, &l.tasks)
}

// Engine implements [link.Link].
func (l *natsLink) Engine() (task.Engine, error) { return natstask.NewEngine(l.conn, &l.tasks) }

// Share implements [link.Link].
func (l *natsLink) Share(c task.Chunk) error { return l.relay.Share(c) }

// Follow implements [link.Link].
func (l *natsLink) Follow(fn func(task.Chunk)) (stop func(), err error) {
	return l.relay.Follow(fn)
}

// Queue implements [link.Link].
func (l *natsLink) Queue() hint.Queue {
	if l.queue == nil {
		return nil
	}
	return l.queue
}

// Letters implements [link.Link].
func (l *natsLink) Letters() deadletter.Box { return l.tasks.Letters }

// Address implements [link.Link].
func (l *natsLink) Address() string { return l.address }

// Close implements [link.Link].
func (l *natsLink) Close() error {
	l.closing.Do(func() {
		close(l.closed)
		if l.conn != nil {
			l.conn.Close()
		}
		if l.own != nil {
			l.own.stop()
		}
	})
	return nil
}

func invalid(field, message, hint string) error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: message, Hint: hint}
}

func unreadable(field string, err error) error {
	return &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "cannot be used", Err: err, Hint: "give the path of a file that this user may read"}
}

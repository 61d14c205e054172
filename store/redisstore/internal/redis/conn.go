package redis

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"
)

// A call is commands and their answers.
type call struct {
	commands [][]string
	answers  []Message
	done     chan struct{} // closed when all answers are there
}

// A conn is a connection. One goroutine writes, one reads.
type conn struct {
	net.Conn
	timeout time.Duration
	now     func() time.Time
	r       *bufio.Reader
	w       *bufio.Writer
	calls   chan *call
	sent    chan *call // in the order of their answers

	mu      sync.Mutex
	waiting int // calls without an answer yet

	dead chan struct{} // closed at the first error
	once sync.Once
	err  error
	wg   sync.WaitGroup
}

// dial connects and says who we are.
func dial(ctx context.Context, o *Options) (*conn, error) {
	d := net.Dialer{Timeout: o.DialTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 10}}
	network := "tcp"
	if o.Unix {
		network = "unix"
	}
	nc, err := d.DialContext(ctx, network, o.Addr)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: nc, timeout: o.Timeout, now: o.Now, calls: make(chan *call), sent: make(chan *call, 1024), dead: make(chan struct{})}
	if o.TLS != nil {
		c.Conn = tls.Client(nc, o.TLS)
	}
	stop := context.AfterFunc(ctx, func() { _ = nc.Close() })
	err = c.greet(o)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = c.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	return c, nil
}

// greet sends what a new connection needs. A server that keeps no names of connections is
// no error.
func (c *conn) greet(o *Options) error {
	c.r, c.w = bufio.NewReaderSize(c, 64<<10), bufio.NewWriterSize(c, 64<<10)
	var commands [][]string
	switch {
	case o.Username != "":
		commands = append(commands, []string{"AUTH", o.Username, o.Password})
	case o.Password != "":
		commands = append(commands, []string{"AUTH", o.Password})
	}
	if o.DB != 0 {
		commands = append(commands, []string{"SELECT", strconv.Itoa(o.DB)})
	}
	commands = append(commands, []string{"CLIENT", "SETNAME", o.ClientName})
	_ = c.SetDeadline(c.now().Add(c.timeout))
	defer func() { _ = c.SetDeadline(time.Time{}) }()
	for i, command := range commands {
		write(c.w, command)
		if err := c.w.Flush(); err != nil {
			return err
		}
		m, err := read(c.r, 0)
		if err == nil && (i < len(commands)-1 || isAuth(&m)) {
			err = m.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isAuth reports whether the server wants a password first.
func isAuth(m *Message) bool { return m.kind == '-' && len(m.text) >= 6 && m.text[:6] == "NOAUTH" }

// Read extends the time for an answer with each byte of it.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.await(0)
	}
	return n, err
}

// await counts calls that wait, and bounds how long the server may be silent while some do.
func (c *conn) await(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.waiting
	c.waiting += more
	switch {
	case c.waiting == 0 && before > 0:
		_ = c.SetReadDeadline(time.Time{})
	case c.waiting > 0 && (more <= 0 || before == 0):
		_ = c.SetReadDeadline(c.now().Add(c.timeout))
	}
}

// fail ends the connection. The first error counts.
func (c *conn) fail(err error) {
	c.once.Do(func() {
		c.err = err
		close(c.dead)
		_ = c.Conn.Close()
	})
}

// start begins to serve calls.
func (c *conn) start() {
	c.wg.Go(c.writeAll)
	c.wg.Go(c.readAll)
}

// writeAll writes calls, and flushes when no more come.
func (c *conn) writeAll() {
	for {
		var next *call
		select {
		case next = <-c.calls:
		case <-c.dead:
			return
		}
		_ = c.SetWriteDeadline(c.now().Add(c.timeout))
		for more := true; more; {
			c.await(1)
			if len(c.sent) == cap(c.sent) {
				_ = c.w.Flush() // its calls are answered only if they were sent
			}
			select {
			case c.sent <- next:
			case <-c.dead:
				return
			}
			for _, words := range next.commands {
				write(c.w, words)
			}
			select {
			case next = <-c.calls:
			default:
				more = false
			}
		}
		if err := c.w.Flush(); err != nil {
			c.fail(err)
			return
		}
	}
}

// readAll hands out answers.
func (c *conn) readAll() {
	for {
		if _, err := c.r.Peek(1); err != nil {
			c.fail(err)
			return
		}
		var next *call
		select {
		case next = <-c.sent:
		default:
			c.fail(errProtocol) // an answer without a call
			return
		}
		next.answers = make([]Message, len(next.commands))
		for i := range next.answers {
			m, err := read(c.r, 0)
			if err != nil {
				c.fail(err)
				return
			}
			next.answers[i] = m
		}
		c.await(-1)
		close(next.done)
	}
}

// errUnsent is of a call that was not sent, since the connection had ended.
var errUnsent = errors.New("redis: the connection had ended")

// do sends a call and waits for its answers. If ctx ends, commands that were sent stay
// sent.
func (c *conn) do(ctx context.Context, commands [][]string) ([]Message, error) {
	l := &call{commands: commands, done: make(chan struct{})}
	select {
	case c.calls <- l:
	case <-c.dead:
		return nil, errUnsent
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-l.done:
		return l.answers, nil
	case <-c.dead:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-l.done:
		return l.answers, nil
	default:
		return nil, c.err
	}
}

package redis

import (
	"context"
	"crypto/sha1" //nolint:gosec // the server names scripts by it
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"
)

// A Client is safe for concurrent use.
type Client struct {
	o Options

	dialing chan struct{} // full while one call makes a connection

	mu     sync.Mutex
	closed bool
	conn   *conn          // nil before the first
	calls  sync.WaitGroup // in progress
	conns  sync.WaitGroup // that end
}

// Open connects to a server.
func Open(ctx context.Context, o Options) (*Client, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Client{o: o, dialing: make(chan struct{}, 1)}
	if _, err := c.connection(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Close waits for calls in progress and closes the connection.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.calls.Wait()
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		conn.fail(ErrClosed)
	}
	c.conns.Wait()
}

// begin counts a call, unless the client is closed.
func (c *Client) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.calls.Add(1)
	return nil
}

// living returns the connection, nil if it is lost.
func (c *Client) living() *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return nil
	}
	select {
	case <-c.conn.dead:
		return nil
	default:
		return c.conn
	}
}

// connection returns the connection, or makes one.
func (c *Client) connection(ctx context.Context) (*conn, error) {
	if conn := c.living(); conn != nil {
		return conn, nil
	}
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if conn := c.living(); conn != nil {
		return conn, nil
	}
	conn, err := dial(ctx, &c.o)
	if err != nil {
		return nil, err
	}
	conn.start()
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	c.conns.Go(conn.wg.Wait)
	return conn, nil
}

// Do calls one command. An answer that refuses it is an [*Error].
func (c *Client) Do(ctx context.Context, words ...string) (Message, error) {
	answers, err := c.DoAll(ctx, [][]string{words})
	if err != nil {
		return Message{}, err
	}
	return answers[0], answers[0].Err()
}

// DoAll calls commands in one round trip. Each answer may be an error of the server.
func (c *Client) DoAll(ctx context.Context, commands [][]string) ([]Message, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	if err := c.begin(); err != nil {
		return nil, err
	}
	defer c.calls.Done()
	for {
		conn, err := c.connection(ctx)
		if err != nil {
			return nil, err
		}
		answers, err := conn.do(ctx, commands)
		if !errors.Is(err, errUnsent) {
			return answers, err
		}
	}
}

// Subscribe calls fn for each message of a channel until ctx or the connection ends,
// over a connection of its own. It always returns an error.
func (c *Client) Subscribe(ctx context.Context, channel string, fn func()) error {
	if err := c.begin(); err != nil {
		return err
	}
	defer c.calls.Done()
	conn, err := dial(ctx, &c.o)
	if err != nil {
		return err
	}
	defer conn.fail(ErrClosed)
	defer context.AfterFunc(ctx, func() { conn.fail(ctx.Err()) })()
	send := func(words ...string) error {
		_ = conn.SetWriteDeadline(c.o.Now().Add(c.o.Timeout))
		write(conn.w, words)
		return conn.w.Flush()
	}
	if err := send("SUBSCRIBE", channel); err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer conn.fail(ErrClosed)
	wg.Go(func() { // asks whether the server is there, so that silence tells
		for t := time.NewTicker(max(c.o.Timeout/3, time.Millisecond)); ; {
			select {
			case <-t.C:
				if err := send("PING"); err != nil {
					conn.fail(err)
				}
			case <-conn.dead:
				t.Stop()
				return
			}
		}
	})
	for {
		_ = conn.SetReadDeadline(c.o.Now().Add(c.o.Timeout))
		m, err := read(conn.r, 0)
		if err == nil {
			err = m.Err()
		}
		if err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return err
		}
		if words, err := m.List(); err == nil && len(words) == 3 && words[0].text == "message" {
			fn()
		}
	}
}

// A Script runs in the server, which keeps it by its hash.
type Script struct{ text, hash string }

// NewScript returns a script in Lua.
func NewScript(text string) *Script {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // as above
	return &Script{text, hex.EncodeToString(sum[:])}
}

// Run calls a script. A server that has forgotten it gets its text again.
func (c *Client) Run(ctx context.Context, s *Script, key string, args ...string) (Message, error) {
	words := append([]string{"EVALSHA", s.hash, "1", key}, args...)
	m, err := c.Do(ctx, words...)
	var e *Error
	if errors.As(err, &e) && strings.HasPrefix(e.Text, "NOSCRIPT") {
		words[0], words[1] = "EVAL", s.text
		m, err = c.Do(ctx, words...)
	}
	return m, err
}

package redis

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server answers commands by a function; "" is silence, and "cut" ends the connection.
type server struct {
	net.Listener
	conns    atomic.Int64
	commands atomic.Int64
	wg       sync.WaitGroup
}

func serve(t *testing.T, answer func(words []string) string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Listener: l}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			s.wg.Go(func() {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					m, err := read(r, 0)
					if err != nil {
						return
					}
					words, _ := m.Texts()
					text := "+OK\r\n"
					if words[0] != "CLIENT" {
						s.commands.Add(1)
						text = answer(words)
					}
					if text == "cut" {
						return
					}
					if _, err := c.Write([]byte(text)); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.wg.Wait()
	})
	return s
}

func connect(t *testing.T, s *server, timeout time.Duration) *Client {
	t.Helper()
	c, err := Open(t.Context(), Options{Addr: s.Addr().String(), Timeout: timeout, DialTimeout: 5 * time.Second, ClientName: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestCallsShareAConnection has many callers at once: each gets its own answer, over one
// connection.
func TestCallsShareAConnection(t *testing.T) {
	s := serve(t, func(words []string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(words[1]), words[1]) })
	c := connect(t, s, time.Minute)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			for j := range 20 {
				want := fmt.Sprint(i, " ", j)
				m, err := c.Do(t.Context(), "ECHO", want)
				if got, _ := m.Text(); err != nil || got != want {
					t.Errorf("ECHO %q: %q, %v", want, got, err)
				}
			}
		})
	}
	wg.Wait()
	if n := s.conns.Load(); n != 1 {
		t.Errorf("there were %d connections, want 1", n)
	}
}

// TestLostConnectionIsMadeAgain cuts a connection in the middle of a call: that fails and
// is not sent again, and the next call gets another connection.
func TestLostConnectionIsMadeAgain(t *testing.T) {
	s := serve(t, func(words []string) string {
		if words[0] == "CUT" {
			return "cut"
		}
		return ":1\r\n"
	})
	c := connect(t, s, time.Minute)
	if _, err := c.Do(t.Context(), "CUT"); err == nil {
		t.Error("a call whose answer was lost succeeds")
	}
	m, err := c.Do(t.Context(), "GET")
	if n, _ := m.Int(); err != nil || n != 1 {
		t.Errorf("the next call: %d, %v", n, err)
	}
	if conns, commands := s.conns.Load(), s.commands.Load(); conns != 2 || commands != 2 {
		t.Errorf("%d commands over %d connections, want 2 over 2", commands, conns)
	}
}

// TestSilentServer has a server that keeps a connection open and says nothing: calls fail
// after the timeout, although no context ends, and the next call gets another connection.
func TestSilentServer(t *testing.T) {
	var silent atomic.Bool
	silent.Store(true)
	s := serve(t, func([]string) string {
		if silent.Load() {
			return ""
		}
		return ":1\r\n"
	})
	c := connect(t, s, 50*time.Millisecond)
	var timeout net.Error
	if _, err := c.Do(t.Context(), "GET"); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a call to a silent server: %v, want a timeout", err)
	}
	silent.Store(false)
	if _, err := c.Do(t.Context(), "GET"); err != nil {
		t.Errorf("the next call: %v", err)
	}
}

// TestEndOfAContext ends a call, and leaves the connection to others.
func TestEndOfAContext(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(words []string) string {
		if words[0] == "WAIT" {
			<-release
		}
		return "+" + words[0] + "\r\n"
	})
	c := connect(t, s, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := c.Do(ctx, "WAIT")
		ended <- err
	}()
	for s.commands.Load() == 0 {
		runtime.Gosched()
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	close(release)
	m, err := c.Do(t.Context(), "GET")
	if got, _ := m.Text(); err != nil || got != "GET" || s.conns.Load() != 1 {
		t.Errorf("the next call: %q, %v over %d connections; want its own answer over the same", got, err, s.conns.Load())
	}
	c.Close()
	if _, err := c.Do(t.Context(), "GET"); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestForgottenScript wants a script's text to be sent where its hash is not known.
func TestForgottenScript(t *testing.T) {
	s := serve(t, func(words []string) string {
		if words[0] == "EVALSHA" {
			return "-NOSCRIPT No matching script.\r\n"
		}
		return fmt.Sprintf("+%s\r\n", strings.Join(words, " "))
	})
	c := connect(t, s, time.Minute)
	m, err := c.Run(t.Context(), NewScript("return 1"), "key", "arg")
	if got, _ := m.Text(); err != nil || got != "EVAL return 1 1 key arg" {
		t.Errorf("the server got %q, %v", got, err)
	}
}

func TestAnswers(t *testing.T) {
	for text, want := range map[string]Message{
		"+OK\r\n":                        {kind: '+', text: "OK"},
		"-ERR no\r\n":                    {kind: '-', text: "ERR no"},
		":-7\r\n":                        {kind: ':', n: -7},
		"$-1\r\n":                        {},
		"*-1\r\n":                        {},
		"$4\r\na\r\nb\r\n":               {kind: '$', text: "a\r\nb"},
		"*0\r\n":                         {kind: '*', list: []Message{}},
		"*2\r\n$1\r\n0\r\n*1\r\n$-1\r\n": {kind: '*', list: []Message{{kind: '$', text: "0"}, {kind: '*', list: []Message{{}}}}},
	} {
		if got, err := read(bufio.NewReader(strings.NewReader(text)), 0); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x\r\n", "+OK\n", ":\r\n", ":x\r\n", "$-2\r\n", "$5\r\nab\r\n", "$1\r\nabc", "$99999999999\r\n", "*-2\r\n", "*2\r\n:1\r\n", "%1\r\n", strings.Repeat("*1\r\n", 100)} {
		if got, err := read(bufio.NewReader(strings.NewReader(text)), 0); err == nil {
			t.Errorf("%q is read as %+v, want an error", text, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\n0\r\n*1\r\n$-1\r\n"))
	f.Add([]byte(":12\r\n+OK\r\n-ERR\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		for r := bufio.NewReader(strings.NewReader(string(data))); ; {
			m, err := read(r, 0)
			if err != nil {
				return
			}
			_, _ = m.Text()
			_, _ = m.Int()
			_, _ = m.Map()
			_, _, _ = m.Scan()
		}
	})
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Options{
		"redis://h":                       {Addr: "h:6379"},
		"redis://":                        {Addr: "localhost:6379"},
		"redis://u:p@h:1/2?client_name=x": {Addr: "h:1", Username: "u", Password: "p", DB: 2, ClientName: "x"},
		"valkey://:p@[::1]?db=3":          {Addr: "[::1]:6379", Password: "p", DB: 3},
		"unix://u:p@/run/redis.sock?db=4": {Addr: "/run/redis.sock", Unix: true, Username: "u", Password: "p", DB: 4},
		"redis://h?addr=i":                {Addr: "h:6379", Several: true},
		"redis://h?master_set=m":          {Addr: "h:6379", Several: true},
		"redis://h?dial_timeout=1s":       {Addr: "h:6379", DialTimeout: time.Second},
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(u); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"http://h", "redis://h/x", "redis://h/1/2", "redis://h?db=x", "redis://h?dial_timeout=x", "rediss://h?skip_verify=maybe"} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Parse(u); err == nil {
			t.Errorf("%s is %+v, want an error", text, got)
		}
	}
	u, _ := url.Parse("rediss://h?skip_verify")
	if got, err := Parse(u); err != nil || got.TLS == nil || got.TLS.ServerName != "h" || !got.TLS.InsecureSkipVerify {
		t.Errorf("with TLS: %+v, %v", got, err)
	}
}

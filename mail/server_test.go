package mail_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"io"
	"math/big"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse/internal/proof/must"
)

// A smtpServer is a submission server in this process. It speaks the protocol as far as a client needs it.
type smtpServer struct {
	t        *testing.T
	listener net.Listener
	tls      *tls.Config
	roots    *x509.CertPool

	mu       sync.Mutex
	plain    bool                               // offers no STARTTLS
	implicit bool                               // TLS from the first byte on
	password string                             // asked for after STARTTLS; "": no login
	answer   func(verb, argument string) string // in place of the usual answer, unless it is empty
	mails    []received
	said     []string // all commands, for a look at secrets
	logins   int
	work     sync.WaitGroup
	conns    map[net.Conn]bool
}

// A received is a mail as the server took it.
type received struct {
	from string
	to   []string
	raw  string
	*netmail.Message
	text, html string
}

func newServer(t *testing.T) *smtpServer {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "smtp"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key))(t)
	s := &smtpServer{t: t, roots: x509.NewCertPool(), conns: map[net.Conn]bool{}}
	s.roots.AddCert(must.Get(x509.ParseCertificate(der))(t))
	s.tls = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.listener = must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s.work.Go(s.accept)
	t.Cleanup(func() {
		_ = s.listener.Close()
		s.mu.Lock()
		for c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.work.Wait()
	})
	return s
}

func (s *smtpServer) address() string { return s.listener.Addr().String() }

func (s *smtpServer) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// all returns the mails that were taken so far.
func (s *smtpServer) all() []received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]received(nil), s.mails...)
}

func (s *smtpServer) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.set(func() { s.conns[c] = true })
		s.work.Go(func() {
			s.serve(c)
			_ = c.Close()
			s.set(func() { delete(s.conns, c) })
		})
	}
}

func (s *smtpServer) serve(c net.Conn) {
	s.mu.Lock()
	secure, plain, password := s.implicit, s.plain, s.password
	s.mu.Unlock()
	if secure {
		c = tls.Server(c, s.tls)
	}
	r := bufio.NewReader(c)
	say := func(line string) { _, _ = io.WriteString(c, line+"\r\n") }
	say("220 smtp.test ready")
	in := password == ""
	var m received
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		verb, argument, _ := strings.Cut(line, " ")
		verb = strings.ToUpper(verb)
		s.mu.Lock()
		s.said = append(s.said, line)
		answer := ""
		if s.answer != nil {
			answer = s.answer(verb, argument)
		}
		s.mu.Unlock()
		switch {
		case answer != "":
			say(answer)
		case verb == "EHLO":
			lines := []string{"smtp.test", "8BITMIME", "ENHANCEDSTATUSCODES"}
			if !secure && !plain {
				lines = append(lines, "STARTTLS")
			}
			if password != "" && secure {
				lines = append(lines, "AUTH PLAIN")
			}
			for i, l := range lines {
				sep := "-"
				if i == len(lines)-1 {
					sep = " "
				}
				say("250" + sep + l)
			}
		case verb == "STARTTLS":
			say("220 go on")
			secure = true
			c = tls.Server(c, s.tls)
			r = bufio.NewReader(c)
		case verb == "AUTH":
			_, blob, _ := strings.Cut(argument, " ")
			got, _ := base64.StdEncoding.DecodeString(blob)
			in = string(got) == "\x00posthouse\x00"+password
			if !in {
				say("535 5.7.8 wrong")
				continue
			}
			s.set(func() { s.logins++ })
			say("235 welcome")
		case verb == "MAIL" && !in:
			say("530 5.7.0 log in")
		case verb == "MAIL":
			m = received{from: argument}
			say("250 ok")
		case verb == "RCPT":
			m.to = append(m.to, strings.TrimSuffix(strings.TrimPrefix(argument, "TO:<"), ">"))
			say("250 ok")
		case verb == "DATA":
			say("354 go on")
			var b strings.Builder
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				b.WriteString(strings.TrimPrefix(line, "."))
			}
			s.mu.Lock()
			if s.answer != nil {
				answer = s.answer("END", strings.Join(m.to, " "))
			}
			s.mu.Unlock()
			if answer != "" {
				say(answer)
				continue
			}
			m.raw = b.String()
			s.take(m)
			say("250 taken")
		case verb == "QUIT":
			say("221 bye")
			return
		default: // NOOP, RSET
			say("250 ok")
		}
	}
}

// take reads a mail as a mail program does.
func (s *smtpServer) take(m received) {
	msg, err := netmail.ReadMessage(strings.NewReader(m.raw))
	if err != nil {
		s.t.Errorf("a mail cannot be read: %v\n%s", err, m.raw)
		return
	}
	m.Message = msg
	kind, params, err := mime.ParseMediaType(msg.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		s.t.Errorf("a mail is %s, %v", kind, err)
		return
	}
	parts := multipart.NewReader(msg.Body, params["boundary"])
	for {
		p, err := parts.NextRawPart()
		if err != nil {
			break
		}
		body, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			s.t.Error(err)
		}
		switch kind, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type")); kind {
		case "text/plain":
			m.text = strings.ReplaceAll(string(body), "\r\n", "\n")
		case "text/html":
			m.html = strings.ReplaceAll(string(body), "\r\n", "\n")
		default:
			s.t.Errorf("a part is %s", kind)
		}
	}
	s.set(func() { s.mails = append(s.mails, m) })
}

func subject(t *testing.T, m received) string {
	t.Helper()
	return must.Get(new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")))(t)
}

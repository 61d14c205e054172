//go:build unix

package shared

import (
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/internal/proof/service"
	"github.com/posthouse/posthouse/internal/proof/site"
)

// A backend is a kind of store that processes share.
type backend struct {
	name string
	// at returns the URL of a store of the test's own, and how to reach its server
	// directly.
	at func(t *testing.T, name string) (storeURL, network, addr string)
	// through returns the URL of the store by way of an address.
	through func(name, addr string) string
}

// backends are the stores that are shared. A new one is a line here.
var backends = []backend{
	{
		"postgres",
		func(t *testing.T, name string) (string, string, string) {
			at := pgtest.URL(t)
			u, err := url.Parse(at)
			if err != nil {
				t.Fatal(err)
			}
			return at + "&schema=" + name, "unix", u.Query().Get("host") + "/.s.PGSQL.5432"
		},
		func(name, addr string) string {
			return "postgres://postgres@" + addr + "/postgres?sslmode=disable&schema=" + name
		},
	},
	{
		"redis",
		func(t *testing.T, name string) (string, string, string) {
			u, err := url.Parse(redistest.URL(t))
			if err != nil {
				t.Fatal(err)
			}
			return "redis://" + u.Host + "?prefix=" + name, "tcp", u.Host
		},
		func(name, addr string) string { return "redis://" + addr + "?prefix=" + name },
	},
	{
		"nats",
		func(t *testing.T, name string) (string, string, string) {
			s := startSite(t, "nats")
			network, addr := s.Addr()
			return s.URL(name, ""), network, addr
		},
		func(name, addr string) string { return "nats://" + addr + "?prefix=" + name },
	},
}

// startSite starts a server of the test's own, of a kind of store.
func startSite(t *testing.T, kind string) *site.Site {
	t.Helper()
	k := site.Find(kind)
	if !k.Installed() {
		service.Missing(t, k.Name, "its server is not installed")
	}
	s, err := k.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// A proxy lies between a process and a server. While it is cut, it takes bytes and
// drops them, in either direction, as a partitioned network does.
type proxy struct {
	l             net.Listener
	network, addr string
	cut           sync.RWMutex // held while it is cut
	wg            sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t *testing.T, network, addr string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, network: network, addr: addr}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.conns = nil
		p.mu.Unlock()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) accept() {
	for {
		down, err := p.l.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() {
			defer down.Close()
			p.cut.RLock()
			up, err := net.Dial(p.network, p.addr)
			p.cut.RUnlock()
			if err != nil {
				return
			}
			defer up.Close()
			p.mu.Lock()
			p.conns = append(p.conns, up, down)
			p.mu.Unlock()
			p.wg.Go(func() { p.pass(up, down) })
			p.pass(down, up)
		})
	}
}

// pass passes bytes on until an end closes, and closes the other.
func (p *proxy) pass(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.cut.RLock()
			_, werr := to.Write(buf[:n])
			p.cut.RUnlock()
			if werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

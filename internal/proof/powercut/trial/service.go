package trial

import (
	"errors"
	"os"

	"github.com/posthouse/posthouse/internal/proof/pgtest"
	"github.com/posthouse/posthouse/internal/proof/redistest"
	"github.com/posthouse/posthouse/internal/proof/s3test"
)

// A service is a server that keeps a store's data in a directory.
type service interface {
	installed() bool
	// template makes the data of a new server in dir, which is not there yet.
	template(dir string) error
	// start starts the server over dir, for the first time or again, and returns the URL
	// of its store.
	start(dir, weak string) (url string, err error)
	// kill ends all its processes at once, if it runs.
	kill()
	// repaired is how often the data had to be repaired before the server started.
	repaired() int
	// close removes what the server left beside its data.
	close()
}

type postgres struct{ server *pgtest.Server }

func newPostgres() service { return &postgres{} }

func (*postgres) installed() bool { return pgtest.Installed() }

func (*postgres) template(dir string) error { return pgtest.Init(dir) }

func (p *postgres) start(dir, weak string) (string, error) {
	if p.server != nil {
		return p.server.URL(), p.server.Again()
	}
	settings := []string{"max_wal_size=64MB", "min_wal_size=32MB", "shared_buffers=16MB"}
	if weak != "" {
		settings = append(settings, weak, "wal_writer_delay=10s")
	}
	server, err := pgtest.Open(dir, settings...)
	if err != nil {
		return "", err
	}
	p.server = server
	return server.URL(), nil
}

func (*postgres) repaired() int { return 0 }

func (p *postgres) kill() {
	if p.server != nil {
		p.server.KillAll()
	}
}

func (p *postgres) close() {
	if p.server != nil {
		p.server.KillAll()
		p.server.Close()
	}
}

type redis struct {
	server  *redistest.Server
	log     string
	repairs int
}

func newRedis() service { return &redis{} }

func (*redis) installed() bool { return redistest.Installed() }

func (*redis) template(dir string) error { return os.Mkdir(dir, 0o700) }

// start starts the server. The server refuses a file with an end that a power cut
// tore: then start does what an operator does, and cuts that off with redis-check-aof.
func (r *redis) start(dir, weak string) (string, error) {
	if r.log == "" {
		f, err := os.CreateTemp("", "redis-*.log")
		if err != nil {
			return "", err
		}
		r.log = f.Name()
		_ = f.Close()
	}
	err := r.run(dir, weak)
	if err != nil {
		if ferr := redistest.Repair(dir); ferr != nil {
			return "", errors.Join(err, ferr)
		}
		err = r.run(dir, weak)
		if err == nil {
			r.repairs++
		}
	}
	if err != nil {
		return "", err
	}
	return r.server.URL(), nil
}

func (r *redis) run(dir, weak string) (err error) {
	if r.server != nil {
		return r.server.Again()
	}
	var settings []string
	if weak != "" {
		settings = []string{"appendfsync", weak}
	}
	r.server, err = redistest.Open(dir, r.log, settings...)
	return err
}

func (r *redis) repaired() int { return r.repairs }

func (r *redis) kill() {
	if r.server != nil {
		r.server.Kill()
	}
}

func (r *redis) close() {
	r.kill()
	if r.log != "" {
		_ = os.Remove(r.log)
	}
}

// buckets is a service of buckets in this process. It keeps what it was given whatever
// happens to clients: killing it ends their connections.
type buckets struct{ server *s3test.Server }

func newBuckets() service { return &buckets{} }

func (*buckets) installed() bool           { return true }
func (*buckets) template(dir string) error { return os.Mkdir(dir, 0o700) }
func (*buckets) repaired() int             { return 0 }

func (b *buckets) start(string, string) (string, error) {
	if b.server == nil {
		b.server = s3test.Start()
	}
	return b.server.URL("bucket", "store"), nil
}

func (b *buckets) kill() {
	if b.server != nil {
		b.server.CutConnections()
	}
}

func (b *buckets) close() {
	if b.server != nil {
		b.server.Close()
	}
}

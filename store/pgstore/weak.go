package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// settings are those that lose acknowledged writes where they are off.
var settings = [...]struct{ name, why string }{
	{"fsync", "a power cut or a crash of the machine loses what was not synced yet, and damages the rest"},
	{"full_page_writes", "a power cut in the middle of a page damages it"},
	{"synchronous_commit", "a crash of the server loses what came last"},
}

// A serverState is what a server says of itself on one connection. The connection's user
// or URL may have settings of its own.
type serverState struct {
	version int
	standby bool
	values  [len(settings)]string
}

func askServer(ctx context.Context, c *pgx.Conn) (is serverState, err error) {
	err = c.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, pg_is_in_recovery(),
		current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')`).
		Scan(&is.version, &is.standby, &is.values[0], &is.values[1], &is.values[2])
	return is, err
}

func (is *serverState) weak() (weak []string) {
	for i, v := range is.values {
		if v == "off" {
			weak = append(weak, settings[i].name+" is off: "+settings[i].why)
		}
	}
	return weak
}

// Weak asks the server for its settings and returns those by which it loses acknowledged
// writes, such as "fsync is off: ...". It is empty for a durable server. They may change
// while it runs.
func (s *Store) Weak(ctx context.Context) (weak []string, err error) {
	err = s.read(ctx, "read settings", func(ctx context.Context, c *conn) error {
		is, err := askServer(ctx, c.Conn.Conn())
		weak = is.weak()
		return err
	})
	return weak, err
}

// judgeServer is judge for Open, which tells the logger what is weak and accepted.
func (s *Store) judgeServer(ctx context.Context, c *conn) error {
	weak, err := s.judged(ctx, c.Conn.Conn())
	if len(weak) > 0 {
		s.opts.Logger.Warn("posthouse: Postgres may lose acknowledged writes", "store", s.where, "weak", weak)
	}
	return err
}

// Info implements [posthouse.Informer].
func (s *Store) Info(ctx context.Context) (kind, promise string, bytes int64, err error) {
	err = s.read(ctx, "read the size", func(ctx context.Context, c *conn) error {
		return c.Conn.QueryRow(ctx, "select pg_database_size(current_database())").Scan(&bytes)
	})
	return "Postgres", "what is acknowledged is committed by the server, as its synchronous_commit says", bytes, err
}

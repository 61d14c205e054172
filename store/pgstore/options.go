package pgstore

import (
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/posthouse/posthouse"
)

// Options are the settings of a store. The zero value, or nil, is a good one.
type Options struct {
	// Schema is the schema of the database that holds the tables, one for each store;
	// default "posthouse". It is made if it is missing. It is 1 to 63 lower-case letters,
	// digits and underscores, and begins with a letter. The URL may name it, as in
	// ?schema=desk.
	Schema string

	// ReadOnly opens an existing store for reading, also on a standby. Every write fails
	// with ErrReadOnly.
	ReadOnly bool

	// MaxConns is how many connections the store opens at most, 1 to 1000; default 8, or
	// what pool_max_conns in the URL says. A watch that listens has one more.
	MaxConns int

	// AllowWeak accepts a server with fsync, full_page_writes or synchronous_commit
	// off, where a crash of the server takes acknowledged writes with it. Without it Open
	// fails with ErrUnsupported.
	AllowWeak bool

	// Pooler avoids what does not work through a pooler of transactions, such as
	// PgBouncer: prepared statements, settings of a session, and LISTEN. The URL may say
	// so, as in ?pooler=true.
	Pooler bool

	// NoListen makes watches poll only, and writes send no notifications.
	NoListen bool

	// Poll is how often a watch looks for entries of other processes that no
	// notification told of; default 250 ms.
	Poll time.Duration

	// Timeout is how long a call tries to reach a server that does not answer; default
	// 10 s. A write without an answer by then is ErrUnknown, a read ErrUnavailable.
	Timeout time.Duration

	// Logger receives lost connections and weak settings. By default nothing is logged.
	Logger *slog.Logger
}

var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	if v.Poll == 0 {
		v.Poll = 250 * time.Millisecond
	}
	if v.Timeout == 0 {
		v.Timeout = 10 * time.Second
	}
	if v.Logger == nil {
		v.Logger = slog.New(slog.DiscardHandler)
	}
	return v
}

// configure reads the URL. Settings of ours in the URL fill in those that o leaves empty.
func (o *Options) configure(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		e := posthouse.Invalid("store", "is no URL of a Postgres database")
		e.Err, e.Hint = err, "write postgres://user:password@host:5432/database"
		return nil, e
	}
	params := cfg.ConnConfig.RuntimeParams
	own := func(name string) string { // else they would be sent to the server
		v := params[name]
		delete(params, name)
		return v
	}
	if schema := own("schema"); o.Schema == "" {
		o.Schema = schema
	}
	if o.Schema == "" {
		o.Schema = "posthouse"
	}
	if v := own("pooler"); v != "" {
		on, err := strconv.ParseBool(v)
		if err != nil {
			return nil, posthouse.Invalid("store", "has pooler=%.20q in its URL; allowed are true and false", v)
		}
		o.Pooler = o.Pooler || on
	}
	switch {
	case !schemaName.MatchString(o.Schema):
		return nil, posthouse.Invalid("Schema", "%.80q is not 1 to 63 lower-case letters, digits and underscores that begin with a letter", o.Schema)
	case o.MaxConns < 0 || o.MaxConns > 1000:
		return nil, posthouse.Invalid("MaxConns", "is %d; allowed are 1 to 1000", o.MaxConns)
	case o.Poll < 0:
		return nil, posthouse.Invalid("Poll", "is negative")
	case o.Timeout < 0:
		return nil, posthouse.Invalid("Timeout", "is negative")
	}
	switch {
	case o.MaxConns > 0:
		cfg.MaxConns = int32(o.MaxConns)
	case !strings.Contains(url, "pool_max_conns"):
		cfg.MaxConns = 8
	}
	if cfg.ConnConfig.ConnectTimeout == 0 || cfg.ConnConfig.ConnectTimeout > o.Timeout {
		cfg.ConnConfig.ConnectTimeout = o.Timeout
	}
	if params["application_name"] == "" {
		params["application_name"] = "posthouse"
	}
	if o.Pooler {
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
		cfg.ConnConfig.StatementCacheCapacity, cfg.ConnConfig.DescriptionCacheCapacity = 0, 0
		o.NoListen = true
	}
	return cfg, nil
}

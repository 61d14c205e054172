package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/redisstore/internal/redis"
)

// settings are those without which the server loses acknowledged writes.
var settings = [...]struct{ name, want, why string }{
	{"appendonly", "yes", "a crash loses what came after the last snapshot"},
	{"appendfsync", "always", "a power cut loses what was not synced yet"},
	{"no-appendfsync-on-rewrite", "no", "a power cut during a rewrite loses what was not synced yet"},
	{"aof-load-truncated", "no", "after a power cut it goes on behind half of an append, and what it acknowledges then may be lost"},
	{"maxmemory-policy", "noeviction", "a full server deletes keys"},
}

// Weak asks the server for its settings and returns those by which it loses acknowledged
// writes, such as "appendfsync is everysec, not always: a power cut loses what was not
// synced yet". It is empty for a durable server. They may change while it runs.
func (s *Store) Weak(ctx context.Context) (weak []string, err error) {
	for _, want := range settings {
		m, err := s.get(ctx, "read settings", "CONFIG", "GET", want.name)
		if err != nil {
			var e *redis.Error // it does not know the command, or does not let us
			if errors.As(err, &e) && !isLost(err) {
				return []string{"the server does not tell its settings: " + e.Error()}, nil
			}
			return nil, err
		}
		have, err := m.Map()
		switch v, ok := have[want.name]; {
		case err != nil || !ok:
			weak = append(weak, "the server does not tell "+want.name)
		case v != want.want:
			weak = append(weak, fmt.Sprintf("%s is %s, not %s: %s", want.name, v, want.want, want.why))
		}
	}
	return weak, nil
}

// judge refuses a server that would lose acknowledged writes, refuse all writes, or
// keep ids apart.
func (s *Store) judge(ctx context.Context) error {
	m, err := s.get(ctx, "connect", "INFO")
	if err != nil {
		return err
	}
	text, err := m.Text()
	if err != nil {
		return s.wrap("connect", err)
	}
	info := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[k] = v
		}
	}
	major, _, _ := strings.Cut(info["redis_version"], ".")
	version, _ := strconv.Atoi(major)
	refuse := func(code posthouse.Code, message, hint string) error {
		return &posthouse.Error{Code: code, Message: "the server " + s.where + " " + message, Hint: hint}
	}
	switch {
	case version < 7:
		return refuse(posthouse.CodeUnsupported, "is older than Redis 7.0", "use a newer server")
	case info["cluster_enabled"] == "1":
		return refuse(posthouse.CodeUnsupported, "belongs to a cluster, which cannot keep ids unique in one script", "use a server that does not")
	case s.opts.ReadOnly:
		return nil
	case info["role"] != "master":
		return refuse(posthouse.CodeReadOnly, "is a replica, which takes no writes", "connect to the primary, or set Options.ReadOnly")
	}
	weak, err := s.Weak(ctx)
	switch {
	case err != nil:
		return err
	case len(weak) > 0 && !s.opts.AllowWeak:
		return refuse(posthouse.CodeUnsupported, "loses acknowledged writes: "+strings.Join(weak, "; "), "change it with CONFIG SET and CONFIG REWRITE, or accept it: Options.AllowWeak, --allow-weak-store on the command line")
	case len(weak) > 0:
		s.opts.Logger.Warn("posthouse: Redis may lose acknowledged writes", "store", s.where, "weak", weak)
	}
	return nil
}

// Info implements [posthouse.Informer].
func (s *Store) Info(ctx context.Context) (kind, promise string, bytes int64, err error) {
	return "Redis", "what is acknowledged is in Redis, which keeps it as its appendonly and appendfsync say", 0, ctx.Err()
}

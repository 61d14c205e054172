package natsstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/store/internal/away"
	"github.com/posthouse/posthouse/store/internal/lifecycle"
	"github.com/posthouse/posthouse/store/natsstore/internal/embedded"
)

// streams are those of a store, and the requests to the server that has them. A request is
// sent again until the server answers.
type streams struct {
	opts      *Options
	names     names
	where     string           // the servers' addresses or the directory, for messages
	own       *embedded.Server // nil for a server elsewhere
	conn      *nats.Conn
	js        jetstream.JetStream
	log       jetstream.Stream
	aside     jetstream.Stream
	room      int          // the largest message, in bytes
	late      atomic.Int32 // how often the time that requests wait was doubled
	lifecycle *lifecycle.State
	closing   context.Context // ends when the store closes
}

// configs are those of the store's streams. Each keeps everything until it is removed,
// but of a slot the last write only.
func (s *streams) configs() (all []jetstream.StreamConfig) {
	replicas := s.opts.Replicas
	if replicas == 0 {
		replicas = 1
		if s.conn.ConnectedClusterName() != "" {
			replicas = 3
		}
	}
	common := jetstream.StreamConfig{
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage, Replicas: replicas,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1, MaxMsgsPerSubject: -1, AllowDirect: true,
	}
	log := common
	log.Name, log.Subjects = s.names.log(), []string{s.names.prefix + ".log.*"}
	log.Description = "threads of Posthouse"
	all = append(all, log)
	for _, thread := range []string{"", posthouse.ProcessThread} {
		slots := common
		bucket := s.names.bucket(thread)
		slots.Name, slots.Subjects = "KV_"+bucket, []string{"$KV." + bucket + ".>"}
		slots.MaxMsgsPerSubject, slots.AllowRollup = 1, true
		slots.Description = "slots of Posthouse"
		all = append(all, slots)
	}
	aside := common
	aside.Name, aside.Subjects, aside.AllowRollup = s.names.aside(), []string{s.names.chunkSubject(), s.names.witnessSubject()}, true
	aside.Description = "large bodies of Posthouse, and what the log must have"
	return append(all, aside)
}

// setUp finds the store's streams, or makes them. The last of them has a witness when
// all are there.
func (s *Store) setUp(ctx context.Context) error {
	configs := s.streams.configs()
	there, err := s.streams.findStreams(ctx, configs)
	if err != nil {
		return err
	}
	w, err := s.witness.read(ctx)
	if err == nil && there < len(configs) { // another process may have made them first
		there, err = s.streams.findStreams(ctx, configs)
		if err != nil {
			return err
		}
	}
	switch {
	case err == nil && there < len(configs), err != nil && errors.Is(err, errNone) && s.streams.own != nil && s.streams.own.Made():
		said := ""
		if s.streams.own != nil {
			said = s.streams.own.Said()
		}
		return s.streams.lost("%d of the store's %d streams are there%s", there, len(configs), said)
	case err == nil:
		return s.setDown(ctx, w)
	case !errors.Is(err, errNone):
		return err
	case s.opts.ReadOnly:
		return posthouse.NotFound("store in "+s.streams.where+" with the prefix", s.opts.Prefix)
	}
	return s.create(ctx, configs)
}

// findStreams finds the streams that are there, and counts them.
func (s *streams) findStreams(ctx context.Context, configs []jetstream.StreamConfig) (there int, err error) {
	have := make([]jetstream.Stream, len(configs))
	err = each(len(configs), func(i int) error {
		return s.retryUnknown(ctx, "open the store", func(ctx context.Context) (err error) {
			have[i], err = s.js.Stream(ctx, configs[i].Name)
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				return nil
			}
			return err
		})
	})
	return s.use(have), err
}

// setDown takes over what is known of a store that is there.
func (s *Store) setDown(ctx context.Context, w witness) error {
	if w.format > format {
		return &posthouse.Error{
			Code: posthouse.CodeNewer, Message: fmt.Sprintf("the store in %s has format %d; this program knows formats up to %d", s.streams.where, w.format, format),
			Hint: "use that version or a newer one; nothing was changed",
		}
	}
	s.life = w.life
	return s.streams.judge(ctx)
}

// create makes the streams. Others may do so at the same time.
func (s *Store) create(ctx context.Context, configs []jetstream.StreamConfig) error {
	have := make([]jetstream.Stream, len(configs))
	err := each(len(configs), func(i int) error {
		return s.streams.retryUnknown(ctx, "make the store", func(ctx context.Context) (err error) {
			err = s.streams.write(ctx, configs[i].Name, func(ctx context.Context) (err error) {
				have[i], err = s.streams.js.CreateStream(ctx, configs[i])
				return err
			})
			if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
				have[i], err = s.streams.js.Stream(ctx, configs[i].Name)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	s.streams.use(have)
	if err := s.streams.judge(ctx); err != nil {
		return err
	}
	if s.streams.log.CachedInfo().State.Msgs > 0 {
		w, err := s.witness.read(ctx) // a process that made it wrote a witness before the first message
		if errors.Is(err, errNone) {
			return s.streams.lost("the log has messages, and nothing says what it must have")
		}
		if err != nil {
			return err
		}
		return s.setDown(ctx, w)
	}
	var life [4]byte
	_, _ = rand.Read(life[:]) // never fails: crypto/rand aborts the program instead
	err = s.witness.put(ctx, witness{format: format, life: hex.EncodeToString(life[:])})
	if err != nil {
		return err
	}
	w, err := s.witness.read(ctx)
	s.life = w.life
	if err == nil && s.streams.own != nil {
		err = s.streams.own.Sync()
	}
	return err
}

// use takes over the streams that are there, and counts them.
func (s *streams) use(streams []jetstream.Stream) (n int) {
	for _, stream := range streams {
		if stream == nil {
			continue
		}
		n++
		switch stream.CachedInfo().Config.Name {
		case s.names.log():
			s.log = stream
		case s.names.aside():
			s.aside = stream
		}
	}
	return n
}

// each calls f for 0 to n-1 at once, and returns the errors.
func each(n int, f func(i int) error) error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { errs[i] = f(i) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// Weak returns by what the store may lose acknowledged writes, such as "posthouse-log has
// 1 replica in a cluster: the loss of a server loses it". For a server in this process it
// is empty. Another server does not tell its clients whether it syncs each write, so for
// one this is always among the answers.
func (s *Store) Weak(ctx context.Context) (weak []string, err error) {
	weak, err = s.streams.weakStreams(ctx)
	return append(weak, s.streams.untold()...), away.Read(err)
}

// untold returns what the server does not tell its clients.
func (s *streams) untold() []string {
	if s.own != nil {
		return nil
	}
	return []string{"the server does not tell its sync_interval: unless it is always on each server, a power cut loses what was not synced yet"}
}

func (s *streams) weakStreams(ctx context.Context) (weak []string, err error) {
	configs := s.configs()
	haves := make([]jetstream.StreamConfig, len(configs))
	err = each(len(configs), func(i int) error {
		return s.retryUnknown(ctx, "read the settings of streams", func(ctx context.Context) error {
			stream, err := s.js.Stream(ctx, configs[i].Name)
			if err == nil {
				haves[i] = stream.CachedInfo().Config
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for i, want := range configs {
		have := haves[i]
		for _, w := range []struct {
			is  bool
			why string
		}{
			{have.Storage != jetstream.FileStorage, "is kept in memory: a restart loses it"},
			{have.PersistMode == jetstream.AsyncPersistMode, "has persist_mode async: a power cut loses what was not synced yet"},
			{s.conn.ConnectedClusterName() != "" && have.Replicas < 3, fmt.Sprintf("has %d replica in a cluster: the loss of a server loses it", have.Replicas)},
			{have.Retention != jetstream.LimitsPolicy || have.MaxAge != 0 || have.MaxMsgsPerSubject != want.MaxMsgsPerSubject, "has limits by which the server deletes messages"},
			{have.Discard != jetstream.DiscardNew && (have.MaxMsgs > 0 || have.MaxBytes > 0), "has limits by which the server deletes messages"},
		} {
			if w.is {
				weak = append(weak, want.Name+" "+w.why)
			}
		}
	}
	return weak, nil
}

// judge refuses streams that lose acknowledged writes, or are in another cluster.
func (s *streams) judge(ctx context.Context) error {
	if err := s.sameCluster(); err != nil {
		return err
	}
	weak, err := s.weakStreams(ctx)
	switch {
	case err != nil:
		return err
	case s.opts.ReadOnly:
		return nil // a reader loses nothing
	case len(weak) > 0 && !s.opts.AllowWeak:
		return &posthouse.Error{
			Code: posthouse.CodeUnsupported, Message: "the store in " + s.where + " loses acknowledged writes: " + strings.Join(weak, "; "),
			Hint: "change the streams with nats stream edit, or accept it: Options.AllowWeak, --allow-weak-store on the command line",
		}
	}
	weak = append(weak, s.untold()...)
	if len(weak) > 0 {
		s.opts.Logger.Warn("posthouse: NATS may lose acknowledged writes", "store", s.where, "weak", weak)
	}
	return nil
}

// withoutPasswords returns what of the servers' URLs may be shown.
func withoutPasswords(servers string) string {
	var hosts []string
	for one := range strings.SplitSeq(servers, ",") {
		if u, err := url.Parse(one); err == nil {
			hosts = append(hosts, u.Host)
		}
	}
	return strings.Join(hosts, ",")
}

// Info implements [posthouse.Informer].
func (s *Store) Info(ctx context.Context) (kind, promise string, bytes int64, err error) {
	return "NATS JetStream", "what is acknowledged is in the stream, on a majority of its replicas", 0, ctx.Err()
}

package redisstore

import (
	"context"

	"github.com/redis/rueidis"
)

// hear wakes watches at each message until ctx ends. It subscribes again whenever the
// connection is lost.
func (s *Store) hear(ctx context.Context) {
	for wait := newRetries(); ; {
		err := s.client.Receive(ctx, s.client.B().Subscribe().Channel(s.prefix+"news").Build(), func(rueidis.PubSubMessage) {
			wait.Reset()
			s.news.Tell()
		})
		if ctx.Err() != nil || !wait.Next(ctx) {
			return
		}
		s.opts.Logger.Warn("posthouse: listening to Redis again", "store", s.where, "err", err)
	}
}

package redisstore

import "context"

// hear wakes watches at each message until ctx ends. It subscribes again whenever the
// connection is lost.
func (s *Store) hear(ctx context.Context) {
	for wait := newRetries(); ; {
		err := s.client.Subscribe(ctx, s.prefix+"news", func() {
			wait.Reset()
			s.news.Tell()
		})
		if ctx.Err() != nil || !wait.Next(ctx) {
			return
		}
		s.opts.Logger.Warn("posthouse: listening to Redis again", "store", s.where, "err", err)
	}
}

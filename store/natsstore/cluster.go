package natsstore

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/posthouse/posthouse"
)

// sameCluster refuses a store if its streams are in another cluster than the server that
// this process is connected to: there are gateways between them. Gateways of the store's own
// cluster do not show, and carry nothing of the store.
func (s *streams) sameCluster() error {
	if e := s.inAnother(s.conn); e != nil {
		return e
	}
	return nil
}

// inAnother returns why a connection does not lead to the streams' own cluster, or nil.
func (s *streams) inAnother(c *nats.Conn) *posthouse.Error {
	info := s.log.CachedInfo().Cluster
	ours := c.ConnectedClusterName()
	if info == nil || info.Name == "" || ours == "" || info.Name == ours {
		return nil
	}
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported,
		Message: fmt.Sprintf("the streams of the store in %s are in the NATS cluster %.100q and this process is connected to %.100q: superclusters are not supported",
			s.where, info.Name, ours),
		Hint: "connect to servers of the streams' own cluster: leases of seconds need its short ways, and over gateways they are not proved",
	}
}

// reconnected stops writes if a connection that was lost leads to another cluster now.
func (s *Store) reconnected(c *nats.Conn) {
	select {
	case <-s.opened: // the streams are known
	default:
		return
	}
	if e := s.streams.inAnother(c); e != nil && s.lifecycle.Poison(e) {
		s.opts.Logger.Error("posthouse: NATS", "store", s.streams.where, "err", e)
	}
}

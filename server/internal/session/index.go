package session

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/posthouse/posthouse"
)

// A shardIndex has each session of a shard.
type shardIndex map[string]indexed

// An indexed says when a session ends at the earliest, and who has it. Earlier versions
// wrote the time alone, as a number.
type indexed struct {
	end   posthouse.Millis
	owner string
}

// MarshalJSON implements [json.Marshaler].
func (x indexed) MarshalJSON() ([]byte, error) { return json.Marshal([]any{x.end, x.owner}) }

// UnmarshalJSON implements [json.Unmarshaler].
func (x *indexed) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &x.end) == nil {
		return nil
	}
	return json.Unmarshal(data, &[]any{&x.end, &x.owner})
}

func (x indexed) by() string { return x.owner }

// makeRoom takes sessions out of a shard for one more of a principal and returns them. Of
// a principal who has a quarter of the shard, the one that ends first goes; of a full
// shard, one of the principal who has most. So no principal takes what others need.
func (c *Store) makeRoom(shard shardIndex, principal string) (gone []string) {
	take := func(of string) {
		k, ok := oldestOf(shard, of, indexed.by, func(a, b indexed) bool { return a.end < b.end })
		if ok {
			delete(shard, k)
			gone = append(gone, k)
		}
	}
	limit := max(c.limit/len(shards), 1)
	if countOf(shard, principal, indexed.by) >= max(limit/4, 1) {
		take(principal)
	}
	for len(shard) >= limit {
		most, _ := mostOf(shard, indexed.by)
		take(most)
	}
	return gone
}

// index changes a shard's index. change is called again after a conflict, and
// reports whether there is anything to write.
func (c *Store) index(ctx context.Context, digit string, change func(shardIndex) (bool, error)) error {
	key := posthouse.SlotKey{Thread: slotsThread, Step: "index-" + digit}
	var r race
	for {
		shard := shardIndex{}
		slot, err := c.store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotGet})
		switch {
		case errors.Is(err, posthouse.ErrNotFound):
		case err != nil:
			return err
		default:
			if err := json.Unmarshal(slot.Value, &shard); err != nil {
				return &posthouse.Error{Code: posthouse.CodeCorrupt, Message: "the index of sessions does not decode", Err: err}
			}
		}
		if write, err := change(shard); err != nil || !write {
			return err
		}
		value, err := json.Marshal(shard)
		if err != nil {
			return err
		}
		_, err = c.store.Slot(ctx, key, posthouse.SlotOp{Verb: posthouse.SlotPut, Value: value, Revision: slot.Revision})
		if r.shouldStop(err, slot.Revision) {
			return err
		}
	}
}

package encryption

import (
	"context"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/base/canon"
)

const domainSealedSlot = "posthouse/sealed-slot/1"

// slotPlace binds what is sealed in a slot to the slot. Slots have no entry, so an earlier
// value of the same slot opens, too.
func (k DataKeyOf) slotPlace(step string) []byte {
	b := canon.AppendString(nil, domainSealedSlot)
	b = canon.AppendUint(canon.AppendString(b, k.Thread), uint64(k.Generation))
	return append(canon.AppendString(b, step), sealedGCM)
}

// SealSlot seals what a thread's slot is to hold with the data key of its generation, which
// exists once a body of that is sealed.
func (v *Vault) SealSlot(ctx context.Context, of DataKeyOf, step string, value []byte) ([]byte, error) {
	key, err := v.dataKey(ctx, of)
	if err != nil {
		return nil, err
	}
	return key.Seal([]byte{sealedGCM}, nil, value, of.slotPlace(step)), nil
}

// OpenSlot opens what SealSlot sealed.
func (v *Vault) OpenSlot(ctx context.Context, of DataKeyOf, step string, sealed []byte) ([]byte, error) {
	key, err := v.dataKey(ctx, of)
	if err != nil {
		return nil, err
	}
	if len(sealed) == 0 || sealed[0] != sealedGCM {
		return nil, &posthouse.Error{
			Code: posthouse.CodeNewer, Message: "a slot was sealed in a form that this version does not know", Hint: "use the version of posthouse that wrote it",
		}
	}
	value, err := key.Open([]byte{}, nil, sealed[1:], of.slotPlace(step))
	if err != nil {
		return nil, posthouse.Corrupt("slot %q of thread %q does not open with the thread's data key", step, of.Thread)
	}
	return value, nil
}

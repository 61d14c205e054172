package posthouse

import (
	"time"

	"github.com/posthouse/posthouse/internal/base/canon"
)

// Optional fields of a checkpoint's header, in the order of their encoding.
const (
	flagParent = 1 << iota
	flagCoordination
	flagBranch
	flagRun
	flagGraph
	flagFingerprint
	flagNode
	flagAgent
	flagNext
	flagSource
	flagLabels
	flagBy
	flagError
	flagCreated
	flagRevision
	flagOrder
	flagsEnd
)

func checkpointFlags(c *Header) (flags uint64) {
	set := func(cond bool, flag uint64) {
		if cond {
			flags |= flag
		}
	}
	uuid, own := c.ID.UUID()
	set(c.ParentSeq != 0, flagParent)
	set(c.Coordination != "" && c.Coordination != c.Thread, flagCoordination)
	set(branchCode(c.Branch) != "", flagBranch)
	set(c.Run != "", flagRun)
	set(c.Graph != "", flagGraph)
	set(c.Fingerprint != "", flagFingerprint)
	set(c.Node != "", flagNode)
	set(c.Agent != "", flagAgent)
	set(len(c.Next) > 0, flagNext)
	set(c.Source != nil, flagSource)
	set(len(c.Labels) > 0, flagLabels)
	set(c.By != "", flagBy)
	set(c.Error != "", flagError)
	set(!c.CreatedAt.IsZero(), flagCreated)
	set(c.Revision > 0, flagRevision)
	set(!own || uuid != c.Order, flagOrder)
	return flags
}

func appendCheckpoint(b []byte, c *Header) []byte {
	flags := checkpointFlags(c)
	b = canon.AppendUint(b, flags)
	b = appendID(b, c.ID)
	b = canon.AppendUint(b, codeOf(kindCodes, c.Kind))
	b = canon.AppendUint(b, codeOf(statusCodes, c.Status))
	b = canon.AppendUint(b, c.Step)
	b = canon.AppendUint(b, uint64(c.Size))
	if flags&flagParent != 0 {
		b = canon.AppendUint(appendID(b, c.Parent), c.ParentSeq)
	}
	if flags&flagCoordination != 0 {
		b = canon.AppendString(b, c.Coordination)
	}
	if flags&flagBranch != 0 {
		b = canon.AppendString(b, c.Branch)
	}
	for _, s := range []string{c.Run, c.Graph, c.Fingerprint, c.Node, c.Agent} {
		if s != "" {
			b = canon.AppendString(b, s)
		}
	}
	if len(c.Next) > 0 {
		b = canon.AppendStrings(b, c.Next)
	}
	if c.Source != nil {
		b = appendID(canon.AppendString(b, c.Source.Thread), c.Source.ID)
	}
	if len(c.Labels) > 0 {
		b = canon.AppendMap(b, c.Labels)
	}
	if c.By != "" {
		b = canon.AppendString(b, c.By)
	}
	if c.Error != "" {
		b = canon.AppendString(b, c.Error)
	}
	if flags&flagCreated != 0 {
		b = canon.AppendInt(b, c.CreatedAt.UnixNano())
	}
	if c.Revision > 0 {
		b = canon.AppendUint(b, uint64(c.Revision))
	}
	if flags&flagOrder != 0 {
		b = append(b, c.Order[:]...)
	}
	return b
}

// Flags of the fields that seldom change between checkpoints. Their encodings are
// contiguous.
const flagsSteady = flagCoordination | flagBranch | flagRun | flagGraph | flagFingerprint | flagNode | flagAgent |
	flagNext | flagSource | flagLabels | flagBy | flagError

// readCheckpoint reads a header, and reports whether its id is its own order key.
func readCheckpoint(r *decoder) (c *Header, own bool) {
	flags := r.Uint()
	if flags >= flagsEnd {
		r.Fail("unknown flags %x", flags)
	}
	c = r.header()
	id, key, isKey := readKeyedID(r)
	c.ID, c.Kind, c.Status = id, readCode(r, kindCodes), readCode(r, statusCodes)
	c.Step, c.Size = r.Uint(), readInt(r)
	if flags&flagParent != 0 {
		c.Parent, c.ParentSeq = readID(r), r.Uint()
		if c.ParentSeq == 0 {
			r.Fail("parent without a sequence number")
		}
	}
	if steady := flags & flagsSteady; !r.sameSteady(c, steady) {
		before := r.Rest()
		readSteady(r, c, steady)
		r.rememberSteady(c, steady, before)
	}
	if flags&flagCreated != 0 {
		c.CreatedAt = time.Unix(0, r.Int()).UTC()
	}
	if flags&flagRevision != 0 {
		if c.Revision = readUint32(r); c.Revision == 0 {
			r.Fail("revision 0 in its long form")
		}
	}
	if flags&flagOrder != 0 {
		copy(c.Order[:], r.Raw(16))
		if isKey && key == c.Order {
			r.Fail("order key in its long form")
		}
		return c, false
	}
	if c.Order = key; !isKey {
		r.Fail("a foreign id without an order key")
	}
	return c, true
}

func readSteady(r *decoder, c *Header, flags uint64) {
	text := func(flag uint64) string {
		if flags&flag == 0 || r.Err() != nil {
			return ""
		}
		s := r.String()
		if s == "" {
			r.Fail("an optional field is empty")
		}
		return s
	}
	c.Coordination = text(flagCoordination)
	c.Branch = MainBranch
	if b := text(flagBranch); b != "" {
		if c.Branch = b; b == MainBranch {
			r.Fail("branch main in its long form")
		}
	}
	c.Run, c.Graph, c.Fingerprint = text(flagRun), text(flagGraph), text(flagFingerprint)
	c.Node, c.Agent = text(flagNode), text(flagAgent)
	if flags&flagNext != 0 {
		if c.Next = r.list(); c.Next == nil {
			r.Fail("an optional list is empty")
		}
	}
	if flags&flagSource != 0 {
		c.Source = &Source{r.String(), readID(r)}
	}
	if flags&flagLabels != 0 {
		if c.Labels = r.Map(); c.Labels == nil {
			r.Fail("an optional map is empty")
		}
	}
	c.By, c.Error = text(flagBy), text(flagError)
}

package posthouse

import (
	"slices"
	"strings"
	"time"
)

// A Change is a new checkpoint, told as a change of its parent.
type Change struct {
	ID     ID   // "": a new one
	Parent ID   // "": the branch's head
	Root   bool // no parent, even if the branch has a head

	Kind         string // default [KindSave]
	Status       Status
	Coordination string // "": the parent's, or the thread
	Run          string
	Graph        string
	Fingerprint  string
	Node         string
	Agent        string
	By           string
	Error        string
	Next         []string
	Skipped      int  // steps between the parent and this one that made no checkpoint; they count, too
	SameStep     bool // of an update: it is in the middle of the step that its parent is in. What executions have on record stays, but for questions that nobody answered
	Labels       map[string]string
	Source       *Source
	CreatedAt    time.Time // zero: now

	Parts    []Part            // what changed; parts not named are kept
	State    State             // or the whole state: parts not in it are dropped
	Metadata map[string]string // nil: the parent's
	Program  []Part            // changed parts of [Checkpoint.Program]; those not named are kept
}

// A Part is a changed part of the state.
type Part struct {
	Name  string
	Codec string // "" is json
	Data  []byte // the value, or with Splice the new middle
	Drop  bool   // the part is gone

	// Splice keeps Prefix and Suffix bytes of the parent's value around Data: an
	// element appended to a JSON array of n bytes keeps n-1 and 1.
	Splice         bool
	Prefix, Suffix int
}

// A Step is a result to record: once, under task, name and occurrence.
type Step struct {
	Task       string
	Name       string
	Occurrence uint32
	Effect     Effect
	Value      Value
	Grant      ID // the gate whose decision licensed it, of an effect under a grant

	// Loose says that the result survived a [KindAnew]: its place in the order of the
	// execution does not count any more.
	Loose bool
}

// A Committed says what a commit made.
type Committed struct {
	Seq        uint64  // of the entry
	Hash       Hash    // of the entry
	Checkpoint *Header // nil if there was none
	Gates      []Gate  // with their ids
	Decided    []Gate  // with their ids and decisions
	Release    *Release
}

const (
	maxText   = 4000      // bytes of a reason or an error
	maxTask   = 4000      // bytes of the name of a task or a next node, or of a step with those around it
	maxNode   = 3 * MaxID // bytes of a checkpoint's node: a name with each byte escaped
	maxLabels = 16
	maxNext   = 10000
)

func (c *Change) validate() error {
	if err := c.validateNames(); err != nil {
		return err
	}
	if c.Skipped < 0 {
		return invalid("skipped", "is negative")
	}
	if c.Kind == "" {
		c.Kind = KindSave
	}
	if c.SameStep && (c.Kind != KindUpdate || c.Skipped > 0 || c.Root) {
		return invalid("sameStep", "is for an update of a parent, without steps between them")
	}
	if codeOf(kindCodes, c.Kind) >= uint64(len(kindCodes)) {
		return invalid("kind", "%q is not known", c.Kind)
	}
	if codeOf(statusCodes, c.Status) >= uint64(len(statusCodes)) {
		return invalid("status", "%q is not known", c.Status)
	}
	if y := c.CreatedAt.Year(); !c.CreatedAt.IsZero() && (y < 1700 || y > 2200) {
		return invalid("createdAt", "is in the year %d; allowed are 1700 to 2200", y)
	}
	if len(c.Labels) > maxLabels {
		return invalid("labels", "are more than %d", maxLabels)
	}
	for k, v := range c.Labels {
		if err := validateLabel(k, v); err != nil {
			return err
		}
	}
	if len(c.Next) > maxNext {
		return invalid("next", "are more than %d nodes", maxNext)
	}
	for _, n := range c.Next {
		if len(n) > maxTask || !validText(n) {
			return invalid("next", "node %.40q must be at most %d bytes of text without control characters", n, maxTask)
		}
	}
	if c.Error = strings.ToValidUTF8(c.Error, "\ufffd"); len(c.Error) > maxText {
		c.Error = cutText(c.Error, maxText)
	}
	return c.validateParts()
}

// validateLabel takes an empty value: it is one to compare with.
func validateLabel(name, value string) error {
	if err := ValidateName("labels", name); err != nil {
		return err
	}
	if value == "" {
		return nil
	}
	return ValidateName("labels", value)
}

// validateNames checks the fields that name something.
func (c *Change) validateNames() error {
	for _, f := range []struct{ field, s string }{{"id", string(c.ID)}, {"parent", string(c.Parent)}} {
		if f.s != "" {
			if err := validateID(f.field, f.s); err != nil {
				return err
			}
		}
	}
	for _, f := range []struct{ field, s string }{{"coordination", c.Coordination}, {"graph", c.Graph}, {"agent", c.Agent}} {
		if f.s != "" {
			if err := ValidateName(f.field, f.s); err != nil {
				return err
			}
		}
	}
	if len(c.Node) > maxNode || !validText(c.Node) {
		return invalid("node", "must be at most %d bytes of text without control characters", maxNode)
	}
	if s := c.Source; s != nil && (ValidateName("", s.Thread) != nil || s.ID.Validate() != nil) {
		return invalid("source", "must name a thread and a checkpoint")
	}
	for _, f := range []struct{ field, s string }{
		{"run", c.Run}, {"fingerprint", c.Fingerprint}, {"by", c.By},
	} {
		if err := validateText(f.field, f.s); err != nil {
			return err
		}
	}
	return nil
}

func validateText(field, s string) error {
	if len(s) > MaxID || !validText(s) {
		return invalid(field, "must be at most %d bytes of text without control characters", MaxID)
	}
	return nil
}

// validateParts refuses what could not be told apart in the log: two changes of
// one part, or a state given twice.
func (c *Change) validateParts() error {
	if c.State != nil && c.Parts != nil {
		return invalid("state", "is given whole and as changed parts")
	}
	for _, parts := range [][]Part{c.Parts, c.Program} {
		for i := range parts {
			p := &parts[i]
			if p.Codec != "" {
				if err := validateCodec(p.Codec, p.Name); err != nil {
					return err
				}
			}
			if slices.ContainsFunc(parts[:i], func(q Part) bool { return q.Name == p.Name }) {
				return invalid("part "+p.Name, "is changed twice in one checkpoint")
			}
		}
	}
	return nil
}

package posthouse

import (
	"slices"
	"strings"
	"time"
)

// A Draft is one commit: all of it becomes durable at once, or none.
type Draft struct {
	Thread string
	Branch string // "" is main
	Claim  *Claim // the run's lease; nil for a change made by hand

	// Head, if set, is what the branch's head must be, "" meaning that there is
	// no such branch. Otherwise the commit fails with [ErrConflict].
	Head *ID

	Checkpoint *Change // at most one
	Steps      []Step
	Takes      []Take // signals whose values the steps are
	Gates      []Gate // opened with the checkpoint, which must be waiting
	Keep       []ID   // open gates of the branch that stay open, the others being cancelled by a new checkpoint; if one was decided meanwhile, a waiting checkpoint becomes ready
	KeepOpen   bool   // every open gate of the branch stays open, but for those that Gates supersede and those to Withdraw
	Withdraw   []ID   // open gates of the branch that are cancelled, also with KeepOpen: nobody asks them any more
	Decided    []Gate // questions with their Decision, as a policy of the program took it: on record, and never open
	Late       bool   // with a claim: what its run had done before it was asked to cancel, which is no reason to refuse it

	// Release, if set, closes the thread's generation behind the draft, in the same
	// commit; see [Ledger.Release]. Its Claim is the draft's.
	Release *ReleaseOptions

	revise  ID      // the checkpoint that this one is a new revision of
	inherit []*Gate // decided gates that a forked thread takes along
	cancel  bool    // ends a branch that was asked to cancel
	step    uint64  // the count of steps that a forked thread begins with

	copy    bool             // step is the checkpoint's own count, and the status is taken as it is
	answers map[ID]*Decision // of open gates that the checkpoint leaves behind; others are cancelled
}

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
	kept     State             // parts that are on record already, and not judged by rules made since
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

	loose bool // of a fork: see [StepRecord].Loose
}

// A Committed says what a commit made.
type Committed struct {
	Seq        uint64  // of the entry
	Hash       Hash    // of the entry
	Checkpoint *Header // nil if there was none
	Gates      []Gate  // with their ids
	Decided    []Gate  // with their ids and decisions
	Release    *Release

	left []ID // gates of threads that the branch waited for, and does no more
}

const (
	maxText   = 4000      // bytes of a reason or an error
	maxTask   = 4000      // bytes of the name of a task or a next node, or of a step with those around it
	maxNode   = 3 * MaxID // bytes of a checkpoint's node: a name with each byte escaped
	maxLabels = 16
	maxNext   = 10000
)

func (d *Draft) validate() error {
	if d.Branch == "" {
		d.Branch = MainBranch
	}
	if err := ValidateName("branch", d.Branch); err != nil {
		return err
	}
	if d.Checkpoint != nil && !d.copy { // a copy's is as it was
		if err := CheckPerson("by", d.Checkpoint.By); err != nil {
			return err
		}
	}
	if d.Checkpoint == nil && len(d.Steps)+len(d.Decided)+len(d.inherit) == 0 {
		return invalid("draft", "holds neither a checkpoint nor a step")
	}
	for i := range d.Decided {
		if g := &d.Decided[i]; !g.AsksPeople() || g.Decision == nil || g.Decision.By == "" {
			return invalid("decided", "gate %.40q must ask people and carry who decided it", g.Name)
		}
	}
	if len(d.Gates) > 0 && (d.Checkpoint == nil || d.Checkpoint.Status != StatusWaiting) {
		return invalid("gates", "need a checkpoint of status waiting in the same commit")
	}
	if 2*(len(d.Gates)+len(d.Decided))+len(d.Steps)+len(d.Takes)+len(d.Keep) > maxRecords-8 {
		return invalid("draft", "holds more than %d records", maxRecords-8)
	}
	if d.Release != nil {
		if _, err := d.Release.check(); err != nil {
			return err
		}
		if len(d.Gates) > 0 {
			return invalid("release", "would cancel the gates that the draft opens")
		}
	}
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Name == "" || len(s.Name) > maxTask || len(s.Task) > maxTask {
			return invalid("step", "name %.40q must be 1 to %d bytes, its task at most %d", s.Name, maxTask, maxTask)
		}
		if s.Value.Codec == "" {
			s.Value.Codec = "json"
		}
		if err := validateCodec(s.Value.Codec, s.Name); err != nil {
			return err
		}
	}
	if d.Checkpoint != nil {
		return d.Checkpoint.validate()
	}
	return nil
}

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

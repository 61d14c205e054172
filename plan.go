package posthouse

// A Plan is one commit as its stages take it: a draft, or what a fork, a copy, a
// cancellation or a revision makes.
type Plan struct {
	Thread string
	Branch string // "" is main
	Claim  *Claim // nil for a change made by hand

	// Head, if set, is what the branch's head must be, "" meaning that there is no
	// such branch.
	Head *ID

	Checkpoint *Change
	Steps      []Step
	Takes      []Take // signals whose values the steps are
	Gates      []Gate // opened with the checkpoint
	Keep       []ID   // open gates of the branch that stay open
	KeepOpen   bool   // every open gate stays open, but for those superseded or withdrawn
	Withdraw   []ID   // open gates that are cancelled, also with KeepOpen
	Decided    []Gate // questions with their decision, never open
	Late       bool   // done before its run was asked to cancel

	// Release, if set, closes the generation in the same entry.
	Release *ReleaseOptions

	Revise  ID      // the checkpoint that this one is a new revision of
	Inherit []*Gate // decided gates that a forked thread takes along
	Cancel  bool    // ends a branch that was asked to cancel
	Step    uint64  // the count of steps that a forked thread begins with

	// Copy says that Step is the checkpoint's own count, and that status and gates
	// are taken as they are.
	Copy bool

	// Kept are parts that are on record already, which rules made since do not judge.
	Kept State

	// Answers are decisions of open gates that the checkpoint leaves behind; the
	// others are cancelled.
	Answers map[ID]*Decision
}

func (d *Plan) validate() error {
	if d.Branch == "" {
		d.Branch = MainBranch
	}
	if err := ValidateName("branch", d.Branch); err != nil {
		return err
	}
	if d.Checkpoint != nil && !d.Copy { // a copy's is as it was
		if err := CheckPerson("by", d.Checkpoint.By); err != nil {
			return err
		}
	}
	if d.Checkpoint == nil && len(d.Steps)+len(d.Decided)+len(d.Inherit) == 0 {
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

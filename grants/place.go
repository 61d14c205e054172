package grants

// A Place is a record that a worker had an effect, or says that it did not act.
type Place struct {
	Seq    uint64
	Index  int
	Undone bool
}

// Places returns where the log says which workers had an effect as a task.
func (u *Use) Places() []Place { return u.places }

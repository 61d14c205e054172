package canon

// StringLists allocates lists of strings, many at once: a caller that keeps one of them keeps the
// memory of all. No two lists share memory that either may write to. The zero value is ready, for
// one goroutine at a time.
type StringLists struct {
	all []string
}

// listsAtOnce is how many strings are allocated at once.
const listsAtOnce = 32

// Read returns what [Reader.Strings] does.
func (l *StringLists) Read(r *Reader) []string {
	from := l.room()
	for range r.Items() {
		l.all = append(l.all, r.String())
	}
	return l.since(from)
}

// Clone returns a copy of a list; nil for an empty one.
func (l *StringLists) Clone(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	from := l.room()
	l.all = append(l.all, list...)
	return l.since(from)
}

// room makes room for at least one more string and returns its place.
func (l *StringLists) room() int {
	if len(l.all) == cap(l.all) {
		l.all = make([]string, 0, listsAtOnce)
	}
	return len(l.all)
}

func (l *StringLists) since(from int) []string {
	n := len(l.all)
	if n == from {
		return nil
	}
	return l.all[from:n:n]
}

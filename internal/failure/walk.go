package failure

// Holds reports whether an error is another, or wraps it.
func Holds(err, part error) (found bool) {
	if part == nil {
		return false
	}
	walk(err, func(e error) bool {
		found = found || same(e, part)
		return !found
	})
	return found
}

func same(a, b error) (equal bool) {
	defer func() { _ = recover() }() // errors of types that do not compare
	return a == b
}

// walk calls fn for an error and all that it wraps, until fn returns false.
func walk(err error, fn func(error) bool) bool {
	if err == nil || !fn(err) {
		return false
	}
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		if e := w.Unwrap(); e != nil {
			return walk(e, fn)
		}
	case interface{ Unwrap() []error }:
		for _, e := range w.Unwrap() {
			if e != nil && !walk(e, fn) {
				return false
			}
		}
	}
	return true
}

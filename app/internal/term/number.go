package term

import "fmt"

// Number returns n with its thousands set off.
func Number(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count returns a number with its noun, in the plural unless it is 1.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if l := len(noun) - 1; noun[l] == 'y' && noun[l-1] != 'e' {
		noun = noun[:l] + "ie"
	}
	return Number(n) + " " + noun + "s"
}

// Size returns a number of bytes in a unit that a person can compare.
func Size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

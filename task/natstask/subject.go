package natstask

import (
	"fmt"
	"strings"

	"github.com/posthouse/posthouse"
)

// The subjects: a worker calls at {prefix}.task.{worker}.{engine}.{method}, and has its answers
// below {prefix}.answer.{worker}. The permissions of its user pin the name in both.

func taskSubject(prefix, worker, engine, method string) string {
	return prefix + ".task." + worker + "." + engine + "." + method
}

// answersOf returns what the subjects of a worker's answers begin with. No engine, stream or
// service listens below it.
func answersOf(prefix, worker string) string { return prefix + ".answer." + worker + "." }

// A caller is who calls, and how, as a subject says.
type caller struct{ worker, method string }

func parseSubject(prefix, subject string) (c caller, ok bool) {
	rest, ok := strings.CutPrefix(subject, prefix+".task.")
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 3 {
		return c, false
	}
	return caller{parts[0], parts[2]}, true
}

const maxReply = 200 // bytes of a subject below that of a worker's answers

// mayAnswer reports whether a reply subject is below that of the worker's own answers, and made
// of letters, digits and dots.
func mayAnswer(prefix, worker, reply string) bool {
	rest, ok := strings.CutPrefix(reply, answersOf(prefix, worker))
	return ok && rest != "" && len(rest) <= maxReply && strings.Trim(rest, alphanumeric+".") == "" &&
		!strings.HasPrefix(rest, ".") && !strings.HasSuffix(rest, ".") && !strings.Contains(rest, "..")
}

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// Token writes a worker's name as it stands in subjects: letters, digits, - and _ stay, any other
// byte is = and two hexadecimal digits. Each name has one form, and no two the same.
func Token(worker string) string {
	var b strings.Builder
	for i := range len(worker) {
		if c := worker[i]; strings.IndexByte(alphanumeric+"-_", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// nameOf returns the name that a token in a subject stands for.
func nameOf(token string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(token); i++ {
		c := token[i]
		if c == '=' {
			if i+2 >= len(token) {
				break
			}
			if _, err := fmt.Sscanf(token[i+1:i+3], "%02X", &c); err != nil {
				break
			}
			i += 2
		}
		b.WriteByte(c)
	}
	if name := b.String(); Token(name) == token && posthouse.ValidateName("worker", name) == nil {
		return name, nil
	}
	return "", posthouse.Invalid("worker", "%.80q, in the subject of a call, is not the form of a name", token)
}

package runs

// A Question is one that a program says it asks, for people and programs that have not met it
// yet: lists of programs show it. The question itself is what the program gives to package gate.
type Question struct {
	Name    string // as in gate.Question
	Text    string // for people: the question, or what it is about
	Payload any    // a value of the type that people are shown, as in Payment{}; nil: they are shown no payload
}

package front

import (
	"reflect"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/jsontype"
	"github.com/posthouse/posthouse/runs"
)

// CheckQuestions refuses questions that a program cannot say it asks: [posthouse.ErrInvalid].
func CheckQuestions(qs []runs.Question) error {
	seen := map[string]bool{}
	for _, q := range qs {
		if err := posthouse.ValidateName("Questions", q.Name); err != nil {
			return err
		}
		if seen[q.Name] {
			return posthouse.Invalid("Questions", "has %q twice", q.Name)
		}
		seen[q.Name] = true
	}
	return nil
}

// Questions describes the questions that a program says it asks.
func Questions(qs []runs.Question) (described []posthouse.ProgramQuestion) {
	for _, q := range qs {
		d := posthouse.ProgramQuestion{Name: q.Name, Text: q.Text}
		if q.Payload != nil {
			d.Payload = (&jsontype.Schemer{}).Schema(reflect.TypeOf(q.Payload))
		}
		described = append(described, d)
	}
	return described
}

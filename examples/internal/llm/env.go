package llm

import (
	"cmp"
	"fmt"
	"strings"
)

// FromEnv returns the model that the environment names, or nil:
//
//	POSTHOUSE_MODEL      openai:NAME or anthropic:NAME
//	I_API_KEY and ANTHROPIC_API_KEY; empty for a server without keys
//	OPENAI_BASE_URL default https://api.openai.com/v1 ANTHROPIC_BASE_URL default
//	https://api.anthropic.com/v1
//
// getenv is [os.Getenv], in a program.
func FromEnv(getenv func(string) string) (Model, error) {
	choice := getenv("POSTHOUSE_MODEL")
	if choice == "" {
		return nil, nil
	}
	dialect, name, _ := strings.Cut(choice, ":")
	c := Config{Dialect: Dialect(dialect), Model: name}
	switch c.Dialect {
	case OpenAI:
		c.URL, c.Key = cmp.Or(getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1"), getenv("OPENAI_API_KEY")
	case Anthropic:
		c.URL, c.Key = cmp.Or(getenv("ANTHROPIC_BASE_URL"), "https://api.anthropic.com/v1"), getenv("ANTHROPIC_API_KEY")
	}
	m, err := New(c)
	if err != nil {
		return nil, fmt.Errorf("POSTHOUSE_MODEL=%s: %w", choice, err)
	}
	return m, nil
}

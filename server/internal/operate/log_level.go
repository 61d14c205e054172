package operate

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/server/internal/api"
	"github.com/posthouse/posthouse/server/tokens"
)

// LogLevel is /api/log-level: what a process logs.
type LogLevel struct {
	Level *slog.LevelVar // nil: it cannot be set
	Log   *slog.Logger
}

// A LogLevelBody says what a process logs.
type LogLevelBody struct {
	Level string `json:"level" doc:"the least that is logged: debug, info, warn or error"`
}

// Routes are the lines of the table.
func (l *LogLevel) Routes() []*api.Route {
	const path = "/api/log-level"
	answers := []api.Answer{{Status: http.StatusOK, Help: "what is logged", Body: LogLevelBody{}, Media: ""}}
	return []*api.Route{
		{Method: http.MethodGet, Path: path, Role: tokens.Operator, Summary: "What does this process log?", Handle: api.Show(l.get), Answers: answers},
		{
			Method: http.MethodPut, Path: path, Role: tokens.Operator, Summary: "Set what this process logs", Handle: api.Reply(l.set),
			Notes: "Holds for the process that answers, until it ends.",
			Body:  LogLevelBody{}, Answers: answers,
		},
	}
}

func (l *LogLevel) get(*api.Request) (LogLevelBody, error) {
	if l.Level == nil {
		return LogLevelBody{}, errFixed()
	}
	return l.body(), nil
}

func (l *LogLevel) body() LogLevelBody {
	return LogLevelBody{strings.ToLower(l.Level.Level().String())}
}

func (l *LogLevel) set(r *api.Request, b *LogLevelBody) (LogLevelBody, error) {
	if l.Level == nil {
		return LogLevelBody{}, errFixed()
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(b.Level)); err != nil || len(b.Level) > len("debug") {
		return LogLevelBody{}, posthouse.Invalid("level", "must be debug, info, warn or error")
	}
	l.Log.Warn("the log level was set", "level", level.String(), "before", l.Level.Level().String(), "actor", r.Actor.Name)
	l.Level.Set(level)
	return l.body(), nil
}

func errFixed() error {
	return &posthouse.Error{
		Code: posthouse.CodeUnsupported, Message: "the log level of this process cannot be set",
		Hint: "give the server's Options a LogLevel; posthouse serve does",
	}
}

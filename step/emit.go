package step

import (
	"context"
	"io"
	"unicode/utf8"

	"github.com/posthouse/posthouse/internal/engine"
	"github.com/posthouse/posthouse/internal/engine/stream"
)

// Emit sends a value to those who read the run's stream: progress, a finding,
// anything. It is not recorded and not copied; do not change it afterwards.
// Without a reader, and after the node returned, it does nothing; it waits for a
// slow reader. It counts as a heartbeat.
//
// A step emits when it runs: a replay that has its result is silent.
func Emit(ctx context.Context, v any) {
	engine.Emit(ctx, stream.Emission{Value: v, Custom: true})
}

// Token is [Emit] for a piece of text, such as a model's answer as it comes.
// An empty piece is a heartbeat and nothing else.
func Token(ctx context.Context, text string) {
	engine.Emit(ctx, stream.Emission{Text: text})
}

// Writer returns a writer that sends its text as [Token] does. A write never fails. A
// character that the end of a write cuts is sent with the next. It is not safe for
// concurrent use.
func Writer(ctx context.Context) io.Writer { return &writer{ctx: ctx} }

type writer struct {
	ctx  context.Context
	half []byte // the beginning of a character
}

func (w *writer) Write(p []byte) (int, error) {
	text := append(w.half, p...)
	cut := len(text)
	for i := len(text) - 1; i >= 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				cut = i
			}
			break
		}
	}
	Token(w.ctx, string(text[:cut]))
	w.half = append([]byte(nil), text[cut:]...)
	return len(p), nil
}

package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/flow"
	"github.com/posthouse/posthouse/gate"
	"github.com/posthouse/posthouse/step"
)

// execute is the flow's function.
func (c *trial) execute(ctx context.Context, in orderNo) (output, error) {
	before, _, err := flow.Previous[output](ctx)
	if err != nil {
		return output{}, err
	}
	out, err := c.run(ctx, c.program, fmt.Sprint("x", in.N))
	return output{before.N + 1, in.Tag + strings.Join(out, " ")}, err
}

func (c *trial) run(ctx context.Context, ops []*op, path string) (out []string, err error) {
	for _, o := range ops {
		v, err := c.perform(ctx, o, path+"/"+o.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, v...)
	}
	return out, nil
}

func (c *trial) perform(ctx context.Context, o *op, path string) (out []string, err error) {
	retry := step.Options{Retry: posthouse.RetryPolicy{MaxAttempts: o.Retry + 1, InitialDelay: -1}}
	if o.Delay > 0 {
		retry.Retry.InitialDelay = o.Delay
	}
	switch o.Kind {
	case opDo, opSwallow:
		err := c.act(ctx, o, path, retry)
		if o.Kind == opSwallow && err != nil && isPlanned(err) && !errors.Is(err, posthouse.ErrWaiting) && ctx.Err() == nil {
			err = nil
		}
		return []string{path}, err
	case opClock:
		at, err := step.Now(ctx)
		if err != nil {
			return nil, err
		}
		id, err := step.NewID(ctx)
		if err == nil {
			c.w.clock(ctx, path, at.String()+string(id))
		}
		return nil, err
	case opSleep:
		return nil, step.Sleep(ctx, o.Name, o.Delay)
	case opAsk:
		return c.ask(ctx, o, path)
	case opSignal:
		n := c.model.signals[path]
		c.w.awaits(ctx, n)
		v, err := step.Signal[string](ctx, "s", step.SignalOptions{})
		return []string{path + ":" + v}, err
	case opLate:
		_, err = step.Signal[string](ctx, o.Name, step.SignalOptions{Timeout: time.Hour})
		if errors.Is(err, posthouse.ErrExpired) {
			return []string{path + ":late"}, nil
		}
		return nil, cmpErr(err, "a signal came that nobody sent")
	case opNested:
		out, err = step.DoWith(ctx, o.Name, retry, func(ctx context.Context) ([]string, error) { return c.nested(ctx, o, path) })
		return c.told(ctx, path, out, err)
	case opGroup:
		return c.group(ctx, o, path, retry)
	case opMap:
		var items []string
		for i := range o.Times {
			items = append(items, fmt.Sprint(path, "#", i))
		}
		names, err := step.Map(ctx, o.Name, items, func(ctx context.Context, name string) (string, error) {
			return mark + name, c.w.act(ctx, o, name)
		}, step.GroupOptions{Concurrency: o.Limit, Options: retry})
		if err != nil {
			return nil, err
		}
		for i, got := range names {
			c.w.told(ctx, items[i], strings.TrimPrefix(got, mark))
		}
		return items, nil
	case opLoop:
		for i := range o.Times {
			v, err := c.run(ctx, o.Body, fmt.Sprint(path, "[", i, "]"))
			if err != nil {
				return nil, err
			}
			out = append(out, v...)
		}
	}
	return out, nil
}

func cmpErr(err error, otherwise string) error {
	if err == nil {
		err = errors.New(otherwise)
	}
	return err
}

// act is a step with nothing but an effect.
func (c *trial) act(ctx context.Context, o *op, path string, retry step.Options) error {
	v, err := step.DoWith(ctx, o.step(), retry, func(ctx context.Context) (string, error) { return mark + path, c.w.act(ctx, o, path) })
	if err == nil {
		c.w.told(ctx, path, strings.TrimPrefix(v, mark))
	}
	return err
}

// nested is the function of a step over others: its own effect comes last.
func (c *trial) nested(ctx context.Context, o *op, path string) ([]string, error) {
	out, err := c.run(ctx, o.Body, path)
	if err == nil {
		err = c.w.act(ctx, o, path)
	}
	return append([]string{mark + path}, out...), err
}

// told is a result of nested.
func (c *trial) told(ctx context.Context, path string, out []string, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	c.w.told(ctx, path, strings.TrimPrefix(out[0], mark))
	return append([]string{path}, out[1:]...), nil
}

func (c *trial) group(ctx context.Context, o *op, path string, retry step.Options) (all []string, err error) {
	g := step.NewGroup(ctx, &step.GroupOptions{Concurrency: o.Limit, Options: retry})
	var members []*step.Future[[]string]
	for _, m := range o.Body {
		members = append(members, step.Go(g, m.Name, func(ctx context.Context) ([]string, error) { return c.nested(ctx, m, path+"/"+m.Name) }))
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, m := range o.Body {
		out, err := c.told(ctx, path+"/"+m.Name, members[i].Value(), nil)
		if err != nil {
			return nil, err
		}
		all = append(all, out...)
	}
	return all, nil
}

func (c *trial) ask(ctx context.Context, o *op, path string) ([]string, error) {
	q := gate.Question{Name: o.Name, Labels: map[string]string{"say": string(o.Verdict)}}
	if o.Verdict == posthouse.Expire {
		q.Expires = time.Hour
	}
	a, err := gate.Ask[string](ctx, q)
	if err != nil {
		return nil, err
	}
	body := o.Else
	if a.Approved() {
		body = o.Body
	}
	if a.Verdict == posthouse.Respond && a.Value != "so" {
		return nil, fmt.Errorf("%s was answered by %q", path, a.Value)
	}
	out, err := c.run(ctx, body, path)
	return append([]string{path + ":" + string(a.Verdict)}, out...), err
}

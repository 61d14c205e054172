package browser

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// A Page is an open tab.
type Page struct {
	wire    *wire
	session string
}

// Open loads a page in a tab of its own, with the cookies set for it.
func (b *Browser) Open(ctx context.Context, url string, cookies ...*http.Cookie) (*Page, error) {
	var target struct{ TargetID string }
	if err := b.wire.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var attached struct{ SessionID string }
	if err := b.wire.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	p := &Page{b.wire, attached.SessionID}
	for _, c := range cookies {
		if err := p.call(ctx, "Network.setCookie", map[string]any{"name": c.Name, "value": c.Value, "url": url, "httpOnly": true}, nil); err != nil {
			return nil, err
		}
	}
	var went struct{ ErrorText string }
	if err := p.call(ctx, "Page.navigate", map[string]any{"url": url}, &went); err != nil {
		return nil, err
	}
	if went.ErrorText != "" {
		return nil, errors.New(url + ": " + went.ErrorText)
	}
	return p, nil
}

func (p *Page) call(ctx context.Context, method string, params, result any) error {
	return p.wire.call(ctx, p.session, method, params, result)
}

// Eval runs a JavaScript expression in the page, awaits it if it is a promise,
// and reads its value into v, if that is not nil. The value goes through JSON:
// take numbers that must be exact as text.
func (p *Page) Eval(ctx context.Context, expression string, v any) error {
	var out struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description, Value string }
		}
	}
	err := p.call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &out)
	if err != nil {
		return err
	}
	if e := out.ExceptionDetails; e != nil {
		return errors.New("in the page: " + e.Text + " " + e.Exception.Description + e.Exception.Value + "\n" + expression[:min(len(expression), 500)])
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(out.Result.Value, v)
}

// Wait looks at an expression every 10 milliseconds until it is true.
func (p *Page) Wait(ctx context.Context, expression string) error {
	return p.Eval(ctx, `new Promise((done) => {
		const look = () => ((`+expression+`) ? done(true) : setTimeout(look, 10));
		look();
	})`, nil)
}

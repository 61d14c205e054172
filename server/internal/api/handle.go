package api

import (
	"iter"
	"net/http"
)

// Show returns a handler that answers with what fn returns, as JSON.
func Show[T any](fn func(*Request) (T, error)) Handler {
	return func(w http.ResponseWriter, r *Request) error {
		v, err := fn(r)
		if err != nil {
			return err
		}
		return WriteJSON(w, http.StatusOK, v)
	}
}

// Take returns a handler that decodes the body for fn. No body is a zero B.
func Take[B any](fn func(http.ResponseWriter, *Request, *B) error) Handler {
	return func(w http.ResponseWriter, r *Request) error {
		body := new(B)
		if err := r.Decode(body); err != nil {
			return err
		}
		return fn(w, r, body)
	}
}

// Reply is [Take] and [Show] in one: fn makes the answer of the body.
func Reply[B, T any](fn func(*Request, *B) (T, error)) Handler {
	return Take(func(w http.ResponseWriter, r *Request, body *B) error {
		return Show(func(r *Request) (T, error) { return fn(r, body) })(w, r)
	})
}

// All returns a handler that answers with all that fn returns, as a list of one page.
func All[T any](fn func(*Request) ([]T, error)) Handler {
	return func(w http.ResponseWriter, r *Request) error {
		items, err := fn(r)
		if err != nil {
			return err
		}
		return WriteList(w, r, List[T]{Items: items})
	}
}

// Collect returns the first limit items of a sequence and, if it has more, the
// cursor of the last one.
func Collect[T any](items iter.Seq2[T, error], limit int, cursor func(T) string) (page []T, next string, err error) {
	page = []T{}
	for item, err := range items {
		if err != nil {
			return nil, "", err
		}
		if len(page) == limit {
			return page, cursor(page[limit-1]), nil
		}
		page = append(page, item)
	}
	return page, "", nil
}

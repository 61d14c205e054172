package client

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
)

// pageSize is the most that is asked for at once.
const pageSize = 1000

// List yields what a list holds, page by page, at most limit items; 0 is all. As with [Client.Do],
// values on record come as the server's JSON has them.
func List[T any](ctx context.Context, c *Client, path string, query url.Values, limit int) iter.Seq2[T, error] {
	return list[T](ctx, c, path, query, limit, json.Unmarshal)
}

// exactList is List with values on record as their bytes.
func exactList[T any](ctx context.Context, c *Client, path string, query url.Values, limit int) iter.Seq2[T, error] {
	if holdsValues(reflect.TypeFor[T](), nil) {
		query = exact(query)
	}
	return list[T](ctx, c, path, query, limit, decode)
}

// exact asks for values on record as strings of their bytes.
func exact(query url.Values) url.Values {
	q := url.Values{valuesParam: {"text"}}
	maps.Copy(q, query)
	return q
}

func list[T any](ctx context.Context, c *Client, path string, query url.Values, limit int, read func([]byte, any) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		q := url.Values{}
		maps.Copy(q, query)
		for seen := 0; ; {
			size := pageSize
			if limit > 0 {
				size = min(size, limit-seen)
			}
			q.Set("limit", strconv.Itoa(size))
			var page []T
			head, err := c.do(ctx, &request{method: http.MethodGet, path: withQuery(path, q), accept: "application/json"}, read, &page)
			if err != nil {
				var zero T
				yield(zero, err)
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
			next := head.Get("X-Next-Cursor")
			if seen += len(page); next == "" || limit > 0 && seen >= limit {
				return
			}
			q.Set("cursor", next)
		}
	}
}

// Collect reads a whole List.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for item, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

package api

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"slices"
	"testing"
)

// TestFieldsAreOfItems: a list asked for some members leaves others out of its
// items only: it still says that there are more than were counted.
func TestFieldsAreOfItems(t *testing.T) {
	type item struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	page := List[item]{Items: []item{{"a", "long"}}, Next: "a", Counts: map[string]int{"refund": 1000}, Snoozed: 2, More: true}
	route := &Route{Query: []Param{{Name: cursorName, Kind: TextParam}, FieldsParam()}}
	members := func(fields string) (map[string]json.RawMessage, string) {
		r := &Request{Request: httptest.NewRequest("GET", "/api/gates", nil), Route: route, Query: map[string]string{"fields": fields}}
		rec := httptest.NewRecorder()
		if err := WriteList(rec, r, page); err != nil {
			t.Fatal(err)
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(rec.Body.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		items := string(all["items"])
		delete(all, "items")
		return all, items
	}
	whole, _ := members("")
	some, items := members("id")
	if items != `[{"id":"a"}]` {
		t.Errorf("the items are %s", items)
	}
	if !maps.EqualFunc(whole, some, func(a, b json.RawMessage) bool { return slices.Equal(a, b) }) || len(some) != 4 {
		t.Errorf("with fields the list says %s, and without %s", some, whole)
	}
}

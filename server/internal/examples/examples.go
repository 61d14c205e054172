package examples

import (
	"encoding/json"
	"slices"

	"github.com/posthouse/posthouse/server/internal/api"
)

const (
	checkpoint = "019a2f6e-7c1b-7d1e-8f00-3b7d1c2a9e41"
	asked      = "gate-019a2f6e-7c1c-7000-9a01-6f2d8e4b1c33"
	hash       = "5f0c9d6bb1f0e8f7a1f5b1f4c9d86e0d6b1b6f0c3a8e2d4f7b9a1c3e5d7f9b2a"

	open = `{"id":"` + asked + `","thread":"order-1234","branch":"main","checkpoint":"` + checkpoint + `","hash":"` + hash + `","seq":2,"name":"refund",` +
		`"text":"Refund order 1234?","payload":{"order":"1234","amount":40},"requestedBy":"shop","createdAt":"2026-11-26T12:00:00.5Z","expiresAt":"2026-11-28T12:00:00Z","uses":1,` +
		`"state":"open","intent":"Refund order 1234?","binding":[{"name":"order","label":"order","value":"1234"},{"name":"amount","label":"amount","value":40}],"terms":[{"label":"Licenses","value":"one effect"}],` +
		`"answers":[{"verb":"approve","label":"Approve","does":"What is shown is done","confirm":true,"primary":true},` +
		`{"verb":"reject","label":"Reject","does":"Nothing is done: the program continues without it","confirm":true},` +
		`{"verb":"edit","label":"Edit","does":"What you make of it is done","confirm":true,"value":"changed values"},` +
		`{"verb":"respond","label":"Answer","does":"The program continues with your answer","confirm":true,"value":"answer"}],"may":["approve","reject","edit","respond"]}`
	done = `{"id":"019a2f70-11aa-7000-8c02-2f6a9d3e5b77","thread":"order-1234","branch":"main","coordinationId":"order-1234","generation":0,"parentId":"` + checkpoint + `","seq":5,"step":2,"size":41,"hash":"` + hash + `",` +
		`"kind":"node","status":"done","node":"pay","createdAt":"2026-11-26T12:03:11.2Z","state":{"Order":"1234","Amount":40,"Paid":true}}`
)

// An example is what a route may be sent, and what it may answer.
type example struct{ body, answer string }

// all are the examples by method and path.
var all = map[string]example{
	"GET /api/gates":                 {"", `{"items":[` + open + `]}`},
	"GET /api/gates/{id}":            {"", open},
	"POST /api/gates/{id}/approve":   {`{"reason":"the order came back","shown":"` + hash + `"}`, done},
	"POST /api/gates/{id}/reject":    {`{"reason":"it was paid already"}`, ""},
	"POST /api/gates/{id}/edit":      {`{"value":{"order":"1234","amount":35},"reason":"without postage"}`, ""},
	"POST /api/gates/{id}/respond":   {`{"value":"ask the customer first"}`, ""},
	"POST /api/gates/{id}/delegate":  {`{"to":"bob","reason":"on leave"}`, ""},
	"POST /api/gates/{id}/take-back": {`{"reason":"back already"}`, ""},
	"GET /api/people": {"", `{"items":[{"name":"bob","known":["token","decided"],"decides":"yes"},{"name":"dina","known":["token"],"decides":"no","why":"dina has the role viewer and cannot decide"},` +
		`{"name":"nobody-xyz","known":["delegate"],"decides":"unknown","why":"nobody-xyz is known only as a name that somebody wrote"}]}`},
	"POST /api/substitutes":             {`{"to":"bob","until":"2026-12-07T08:00:00Z","reason":"on leave"}`, ""},
	"POST /api/gates/{id}/snooze":       {`{"for":"4h","reason":"waiting for the invoice"}`, ""},
	"GET /api/checkpoints/{id}":         {"", done},
	"GET /api/threads/{id}/checkpoints": {"", `{"items":[` + done + `],"next":"` + checkpoint + `"}`},
	"POST /api/checkpoints/{id}/fork":   {`{"patch":{"Amount":35},"branch":"cheaper"}`, ""},
	"GET /api/threads": {"", `{"items":[{"thread":"order-1234","generation":0,"first":1,"tail":{"seq":5,"hash":"` + hash + `"},"status":"done","graph":"refund",` +
		`"branches":[{"branch":"main","head":"019a2f70-11aa-7000-8c02-2f6a9d3e5b77","seq":5,"status":"done"}],"checkpoints":3,"signed":5,"createdAt":"2026-11-26T12:00:00.1Z","updatedAt":"2026-11-26T12:03:11.2Z"}]}`},
	"POST /api/threads/{id}/cancel": {`{"reason":"the customer kept it"}`, ""},
	"GET /api/me":                   {"", `{"name":"alice","role":"approver"}`},
}

// Add gives examples to the routes that have some here and are without.
func Add(routes []*api.Route) {
	for _, r := range routes {
		e := all[r.Method+" "+r.Path]
		if e.body != "" && r.Example == nil {
			r.Example = json.RawMessage(e.body)
		}
		if e.answer != "" && len(r.Answers) > 0 && r.Answers[0].Example == nil {
			r.Answers = slices.Clone(r.Answers) // routes share them
			r.Answers[0].Example = json.RawMessage(e.answer)
		}
	}
}

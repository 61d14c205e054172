package programs

import "encoding/json"

// Examples for the documentation.
var (
	exampleStart = json.RawMessage(`{"input":{"Order":"1234","Amount":40},"id":"order-1234","labels":{"tenant":"acme"},"startAt":"2026-12-01T08:00:00Z"}`)
	exampleRun   = json.RawMessage(`{"program":"refund","thread":"order-1234","status":"waiting","checkpoint":"019a2f6e-7c1b-7d1e-8f00-3b7d1c2a9e41","startAt":"2026-12-01T08:00:00Z",` +
		`"location":"/api/threads/order-1234","events":"/api/events?after=start&thread=order-1234"}`)
	exampleStanding = json.RawMessage(`{"nodes":[{"node":"approve","threads":12,"statuses":{"waiting":12}},{"node":"pay","threads":3,"statuses":{"failed":1,"running":2}}],"versions":[{"version":"6f1d2c3b4a596877","threads":14},{"version":"1c9e0d7f55aa2031","threads":1}]}`)
	exampleList     = json.RawMessage(`{"items":[{"name":"refund","kind":"graph","version":"6f1d2c3b4a596877","description":"Refunds an order that somebody approved","starts":true,` +
		`"questions":[{"name":"refund","text":"Refund the order?","declared":true}]}]}`)
	exampleProgram = json.RawMessage(`{"name":"refund","kind":"graph","version":"6f1d2c3b4a596877","starts":true,` +
		`"input":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"Order":{"type":"string","description":"the order's number"}},"additionalProperties":false},` +
		`"picture":"flowchart TD\n  n0([\"start\"])\n  n1[\"approve\"]\n  n2([\"end\"])\n  n0 --> n1\n  n1 --> n2\n",` +
		`"graph":{"nodes":[{"id":">start","name":"start","kind":"start"},{"id":"approve","name":"approve","kind":"node"},{"id":">end","name":"end","kind":"end"}],"edges":[{"from":">start","to":"approve"},{"from":"approve","to":">end"}]}}`)
)

// Package api is what all routes of the server share. It has the line of the
// table that describes a route, the checks before a handler runs, the writers of
// answers, and the OpenAPI document made of the table.
//
//	r := &api.Route{
//		Method: http.MethodGet, Path: "/api/threads/{id}", Role: tokens.Viewer, Summary: "Show a thread",
//		Answers: []api.Answer{{Status: http.StatusOK, Help: "its summary", Body: posthouse.ThreadInfo{}}},
//		Handle:  api.Show(s.getThread),
//	}
//
// A [Route] says which parameters it takes; [ParseQuery] refuses any other, and
// [OpenAPI] documents exactly these. [Request.CheckPath] checks the names and ids
// of the path. A [Handler] reads all of these from its [Request], answers by
// [WriteJSON], [WriteList] or an [EventStream], and returns an error otherwise:
// the server writes that as a problem. [Show], [Take] and [Reply] make a handler
// of a func that returns its answer or takes a decoded body.
package api

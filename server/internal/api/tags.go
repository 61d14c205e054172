package api

import "strings"

// A tag is what the description groups paths by.
type tag struct{ name, help string }

// tags are all groups, by the first segment of a path below /api.
var tags = []tag{
	{"gates", "Questions to people: the inbox, decisions, and what became of them"},
	{"approvals", "Questions of tools, that wait on the connection of their caller"},
	{"threads", "Lines of work: their summaries, logs, versions, effects, signals and deletion"},
	{"checkpoints", "What is on record: states, forks, and going on from them"},
	{"programs", "What is served, and the beginning of runs"},
	{"agents", "Requests to agents, and what they answer"},
	{"tasks", "What workers do: open and failed tasks, and messages about them that could not be used"},
	{"workers", "Who handles tasks, and their protocol"},
	{"sessions", "Clients that come back"},
	{"events", "What happens, as it happens"},
	{"store", "What is kept, and how it is protected"},
	{"proof", "What proves the record: verifications, keys, witnesses"},
	{"server", "The process: health, version, metrics, and this description"},
	{"pages", "What a browser shows"},
}

// tagNames say which group a path belongs to that does not have its name.
var tagNames = map[string]string{
	"run": "agents", "agent": "agents", "atmosphere": "agents", "worker": "workers", "session": "sessions", "standalone": "tasks", "dead-letters": "tasks",
	"diff": "checkpoints", "find": "threads", "coordinations": "threads", "retain": "store", "encryption": "store", "me": "server", "bulk": "threads", "channels": "webhooks",
	"verifications": "proof", "keys": "proof", "witness": "proof", "queues": "tasks", "tokens": "server",
}

// tagOf returns the group of a route.
func tagOf(r *Route) string {
	path, isAPI := strings.CutPrefix(r.Path, "/api/")
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case r.Style == Page || r.Style == Asset && !isAPI && first != "metrics" || r.Form || first == "login" || first == "logout":
		return "pages"
	case tagNames[first] != "":
		return tagNames[first]
	}
	for _, t := range tags {
		if t.name == first {
			return first
		}
	}
	return "server"
}

// tagsOf describes the groups that routes have.
func tagsOf(routes []*Route) []object {
	used := map[string]bool{}
	for _, r := range routes {
		used[tagOf(r)] = true
	}
	var all []object
	for _, t := range tags {
		if used[t.name] {
			all = append(all, object{"name": t.name, "description": t.help})
		}
	}
	return all
}

package slack

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/notify"
)

// Options say which Slack app speaks, and whom it knows. TokenFile is required; answers need Workspace, People
// and one of AppTokenFile and SigningSecretFile. Files have one line and are read again when they are needed.
type Options struct {
	TokenFile         string            // the bot token, xoxb-
	AppTokenFile      string            // the app-level token, xapp-, of Socket Mode; "": no connection is opened
	SigningSecretFile string            // proves requests to the request URL; "": none is taken
	Workspace         string            // the workspace's ID, as in T0123456789: members of others decide nothing
	People            map[string]string // the names that members decide by, by member ID, as in U0123456789

	URL    string           // of the Slack API, for tests; default https://slack.com/api/
	Client *http.Client     // default: one with a limit of 20 s
	Now    func() time.Time // default time.Now
}

// An App is a Slack app in one workspace. Make one with [New]. It takes the answers for all its channels.
type App struct {
	token, appToken, signing string // files
	workspace                string
	people                   map[string]string
	url                      string
	http                     *http.Client
	now                      func() time.Time
	patience                 time.Duration // how long an answer to Slack waits for what it is about

	mu   sync.Mutex
	seen map[string]time.Time // signatures of requests that were taken
	busy int                  // answers under way
	idle *sync.Cond           // there may be none
}

// maxPeople bounds the people of an app.
const maxPeople = 10_000

var (
	memberID    = regexp.MustCompile(`^[UW][A-Z0-9]{2,30}$`)
	workspaceID = regexp.MustCompile(`^[TE][A-Z0-9]{2,30}$`)
)

// New returns an app. [posthouse.ErrInvalid] names the option at fault; files are read, and Slack is not asked.
func New(o *Options) (*App, error) {
	a := &App{
		token: o.TokenFile, appToken: o.AppTokenFile, signing: o.SigningSecretFile, workspace: o.Workspace, people: map[string]string{},
		url: o.URL, http: o.Client, now: o.Now, seen: map[string]time.Time{},
	}
	a.idle, a.patience = sync.NewCond(&a.mu), ackTime
	if a.http == nil {
		a.http = &http.Client{Timeout: 20 * time.Second}
	}
	if a.now == nil {
		a.now = time.Now
	}
	for _, f := range []struct{ field, path, prefix string }{{"tokenFile", a.token, "xoxb-"}, {"appTokenFile", a.appToken, "xapp-"}, {"signingSecretFile", a.signing, ""}} {
		if f.path == "" && f.field != "tokenFile" {
			continue
		}
		if _, err := secret(f.field, f.path, f.prefix); err != nil {
			return nil, err
		}
	}
	if a.answers() && !workspaceID.MatchString(o.Workspace) {
		return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "workspace", Message: "is no ID of a workspace: members of another must not decide", Hint: "as in T0123456789, which the address of Slack in a browser has"}
	}
	if len(o.People) > maxPeople {
		return nil, posthouse.Invalid("people", "are more than %d", maxPeople)
	}
	for id, name := range o.People {
		if !memberID.MatchString(id) {
			return nil, &posthouse.Error{Code: posthouse.CodeInvalid, Field: "people", Message: "has \"" + id[:min(len(id), 40)] + "\", which is no ID of a member", Hint: "as in U0123456789: a member's profile has it"}
		}
		if err := posthouse.CheckDecider("people."+id, name); err != nil {
			return nil, err
		}
		a.people[id] = name
	}
	return a, nil
}

// answers reports whether people can decide with buttons.
func (a *App) answers() bool { return a.appToken != "" || a.signing != "" }

// maxSecret bounds a file, in bytes.
const maxSecret = 4 << 10

// secret reads the one line of a file.
func secret(field, path, prefix string) (string, error) {
	if path == "" {
		return "", posthouse.Invalid(field, "is missing")
	}
	b, err := os.ReadFile(path)
	text := strings.TrimSpace(string(b))
	switch {
	case err != nil:
		return "", &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "(" + path + ") cannot be read", Err: err}
	case text == "" || len(text) > maxSecret || strings.ContainsAny(text, " \t\r\n\x00"):
		return "", posthouse.Invalid(field, "(%s) is no single word", path)
	case !strings.HasPrefix(text, prefix):
		return "", &posthouse.Error{Code: posthouse.CodeInvalid, Field: field, Message: "(" + path + ") has another kind of token", Hint: "this one begins with " + prefix}
	}
	return text, nil
}

// client returns a client with the tokens as they are now.
func (a *App) client(withApp bool) (*slack.Client, error) {
	token, err := secret("tokenFile", a.token, "xoxb-")
	if err != nil {
		return nil, err
	}
	options := []slack.Option{slack.OptionHTTPClient(a.http)}
	if a.url != "" {
		options = append(options, slack.OptionAPIURL(a.url))
	}
	if withApp {
		app, err := secret("appTokenFile", a.appToken, "xapp-")
		if err != nil {
			return nil, err
		}
		options = append(options, slack.OptionAppLevelToken(app))
	}
	return slack.New(token, options...), nil
}

// member returns the ID of the member who decides by a name, "" for none.
func (a *App) member(name string) string {
	first := ""
	for id, n := range a.people {
		if n == name && (first == "" || id < first) {
			first = id
		}
	}
	return first
}

// Listen implements [notify.Answerer]: it keeps a connection of Socket Mode, if the app has a token for one.
func (a *App) Listen(ctx context.Context, d *notify.Desk) {
	if a.appToken != "" {
		a.socket(ctx, d)
	}
	<-ctx.Done()
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.busy > 0 {
		a.idle.Wait()
	}
}

// begin runs f, which the app waits for before it ends.
func (a *App) begin(f func()) {
	a.mu.Lock()
	a.busy++
	a.mu.Unlock()
	go func() {
		f()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.busy--
		a.idle.Broadcast()
	}()
}

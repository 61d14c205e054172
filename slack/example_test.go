package slack_test

import (
	"fmt"
	"os"

	"github.com/posthouse/posthouse/notify"
	"github.com/posthouse/posthouse/slack"
)

// Refunds are asked in a channel. Alice and Bob decide there.
func Example() {
	token, err := os.CreateTemp("", "slack")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.Remove(token.Name()) }()
	_, _ = token.WriteString("xoxb-0000")
	_ = token.Close()
	app, err := slack.New(&slack.Options{
		TokenFile: token.Name(), Workspace: "T0123456789",
		People: map[string]string{"U0123456789": "alice", "U0987654321": "bob"},
	})
	if err != nil {
		panic(err)
	}
	channel, err := app.Channel("C0123456789", false)
	if err != nil {
		panic(err)
	}
	endpoint := notify.Endpoint{Name: "finance", Channel: channel, Rule: notify.Rule{Gates: []string{"refund*"}}}
	fmt.Println(endpoint.Validate(), channel.Address())
	// Output: <nil> slack:C0123456789
}

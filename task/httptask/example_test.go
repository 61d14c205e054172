package httptask_test

import (
	"fmt"

	"github.com/posthouse/posthouse/task/httptask"
)

// A token is not sent to another machine without TLS.
func ExampleNewEngine() {
	_, err := httptask.NewEngine("http://posthouse.example", "ph_secret", nil)
	fmt.Println(err)
	// Output: posthouse: server is another machine reached without TLS: the token could be read on the way (use https, or a tunnel to this machine)
}

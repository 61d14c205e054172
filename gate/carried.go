package gate

import "github.com/posthouse/posthouse"

// shownAs returns the arguments of a call as its JSON has them, which is what people see: the tool
// gets no field that the JSON does not carry.
func shownAs[In any](tool string, arguments []byte) (shown In, err error) {
	shown, err = read[In](arguments, false)
	if err != nil {
		return shown, &posthouse.Error{
			Code: posthouse.CodeInvalid, Field: "arguments", Err: err, Message: "of tool " + tool + " would not run as they are shown",
			Hint: "the tool did not run; have it take arguments that come back from their JSON",
		}
	}
	return shown, nil
}

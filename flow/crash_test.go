package flow_test

func child() bool { return false }

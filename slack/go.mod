module github.com/posthouse/posthouse/slack

go 1.26.0

require (
	github.com/gorilla/websocket v1.5.3
	github.com/posthouse/posthouse v0.0.0
	github.com/slack-go/slack v0.35.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/posthouse/posthouse => ../

module github.com/posthouse/posthouse/mail

go 1.26.0

require (
	github.com/posthouse/posthouse v0.0.0
	github.com/wneessen/go-mail v0.8.1
	go.uber.org/goleak v1.3.0
)

require (
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/posthouse/posthouse => ../

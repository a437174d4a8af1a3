module github.com/cotenant-dev/cotenant/test/cluster

go 1.26.0

require (
	github.com/spf13/cobra v1.10.2
	golang.org/x/mod v0.37.0
	golang.org/x/sys v0.47.0
)

require github.com/google/go-cmp v0.7.0

require (
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	golang.org/x/sync v0.22.0
)

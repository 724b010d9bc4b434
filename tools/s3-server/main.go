// The tests' S3 server: versitygw on a directory, started like its own program: --port ADDRESS --quiet posix DIRECTORY.
//
// Its own program has other storages and commands too, with more libraries: to compile them takes as long as all others.
package main

import (
	"context"
	"flag"
	"log"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

// Its program's defaults.
const (
	maxConnections    = 250_000
	maxRequests       = 100_000
	multipartMaxParts = 10_000
	copyBytesMax      = 5 << 30
)

func main() {
	port := flag.String("port", ":7070", "address to listen on")
	quiet := flag.Bool("quiet", false, "don't log requests")
	keepAlive := flag.Bool("keep-alive", false, "keep connections after a response")
	flag.Parse()
	if flag.NArg() != 2 || flag.Arg(0) != "posix" {
		log.Fatal("usage: versitygw [--port ADDRESS] [--quiet] [--keep-alive] posix DIRECTORY")
	}
	directory := flag.Arg(1)
	if err := (meta.XattrMeta{}).Test(directory); err != nil {
		log.Fatalf("the directory must be on a file system with extended attributes: %v", err)
	}
	storage, err := posix.New(directory, meta.XattrMeta{}, posix.PosixOpts{CopyObjectThreshold: copyBytesMax})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(embedgw.RunVersityGW(context.Background(), storage, &embedgw.Config{
		RootUserAccess:    os.Getenv("ROOT_ACCESS_KEY"),
		RootUserSecret:    os.Getenv("ROOT_SECRET_KEY"),
		Ports:             []string{*port},
		MaxConnections:    maxConnections,
		MaxRequests:       maxRequests,
		MultipartMaxParts: multipartMaxParts,
		KeepAlive:         *keepAlive,
		Quiet:             *quiet,
	}))
}

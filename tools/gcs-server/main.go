// The tests' server for gs://: the storage of fake-gcs-server, with uploads as Google's XML API has them.
//
// fake-gcs-server reads, lists and deletes objects by the XML API, which Rawline uses, but creates them by the JSON API
// only. So this translates one request: PUT /BUCKET/OBJECT becomes an upload of the JSON API, and its header
// x-goog-if-generation-match the parameter ifGenerationMatch. Whether the condition holds is up to fake-gcs-server,
// which decides it under a lock. With -unconditional the header is dropped, as fake-gcs-server by itself does.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

// Around the object's bytes in the body of an upload: its metadata has a part too.
const (
	boundary = "rawline-object-rawline"
	before   = "--" + boundary + "\r\nContent-Type: application/json\r\n\r\n{}\r\n" +
		"--" + boundary + "\r\nContent-Type: application/octet-stream\r\n\r\n"
	after = "\r\n--" + boundary + "--\r\n"
)

// The JSON API's description of an object that it has created.
type created struct {
	Etag       string
	Generation string
}

func main() {
	address := flag.String("address", "127.0.0.1:4443", "address to listen on")
	unconditional := flag.Bool("unconditional", false, "ignore x-goog-if-generation-match")
	flag.Parse()
	storage, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true, PublicHost: *address})
	if err != nil {
		log.Fatal(err)
	}
	next := storage.HTTPHandler()
	log.Fatal(http.ListenAndServe(*address, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		bucket, object, isObject := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
		if request.Method != http.MethodPut || !isObject || request.URL.RawQuery != "" {
			next.ServeHTTP(response, request)
			return
		}
		generation := request.Header.Get("x-goog-if-generation-match")
		if *unconditional {
			generation = ""
		}
		put(next, response, request, bucket, object, generation)
	})))
}

// Creates an object by an upload of the JSON API.
func put(next http.Handler, response http.ResponseWriter, request *http.Request, bucket, object, generation string) {
	content, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(response, err.Error(), http.StatusBadRequest)
		return
	}
	query := url.Values{"uploadType": {"multipart"}, "name": {object}}
	if generation != "" {
		query.Set("ifGenerationMatch", generation)
	}
	body := io.MultiReader(strings.NewReader(before), bytes.NewReader(content), strings.NewReader(after))
	upload := httptest.NewRequest(http.MethodPost, "/upload/storage/v1/b/"+bucket+"/o?"+query.Encode(), body)
	upload.Host = request.Host
	upload.Header.Set("Content-Type", "multipart/related; boundary="+boundary)
	recorder := httptest.NewRecorder()
	next.ServeHTTP(recorder, upload)
	var made created
	if recorder.Code == http.StatusOK {
		if err := json.Unmarshal(recorder.Body.Bytes(), &made); err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
			return
		}
		response.Header().Set("ETag", strconv.Quote(strings.Trim(made.Etag, `"`)))
		response.Header().Set("x-goog-generation", made.Generation)
	}
	response.WriteHeader(recorder.Code)
}

// A client of the UrlStore and PinLater, by Apache Thrift's Go library: put, get, getMany, errors,
// and one job from enqueue to ack. Prints one line per step; exits with 1 at the first surprise.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"aragog.test/client/urlstore"

	"github.com/apache/thrift/lib/go/thrift"
)

func check(err error, step string) {
	if err != nil {
		fmt.Println(step, "failed:", err)
		os.Exit(1)
	}
	fmt.Println(step)
}

func connect(address, service string) *thrift.TStandardClient {
	config := &thrift.TConfiguration{}
	socket := thrift.NewTSocketConf(address, config)
	check(socket.Open(), "open "+service)
	framed := thrift.NewTFramedTransportConf(socket, config)
	protocol := thrift.NewTBinaryProtocolConf(framed, config)
	return thrift.NewTStandardClient(protocol, thrift.NewTMultiplexedProtocol(protocol, service))
}

func main() {
	ctx := context.Background()
	store := urlstore.NewUrlStoreClient(connect(os.Args[1], "UrlStore"))
	value := []byte{0, 255, 'x'}
	url := "http://go.example/"

	version, err := store.Put(ctx, url, map[string][]byte{"raw": value}, &urlstore.PutOptions{})
	check(err, "put")
	found, err := store.Get(ctx, "HTTP://GO.example:80/#x", []string{"raw"}, &urlstore.ReadOptions{})
	check(err, "get")
	if !bytes.Equal(found.Fields["raw"], value) || found.Version != version || found.URL != url {
		check(fmt.Errorf("got %v", found), "compare")
	}
	results, err := store.GetMany(ctx, []string{url, "nonsense"}, []string{"raw"}, &urlstore.BatchReadOptions{})
	check(err, "getMany")
	if results[0].Status != urlstore.ItemStatus_OK || results[1].Status != urlstore.ItemStatus_BAD_INPUT {
		check(fmt.Errorf("got %v", results), "compare")
	}
	_, err = store.Get(ctx, "http://unknown.example/", nil, &urlstore.ReadOptions{})
	var missing *urlstore.NotFound
	if !errors.As(err, &missing) {
		check(fmt.Errorf("got %v", err), "not found")
	}

	jobs := urlstore.NewPinLaterClient(connect(os.Args[1], "PinLater"))
	_, err = jobs.Enqueue(ctx, "go", []*urlstore.NewJob_{{Body: value}}, &urlstore.CallOptions{})
	check(err, "enqueue")
	taken, err := jobs.Dequeue(ctx, "go", 10, &urlstore.DequeueOptions{})
	check(err, "dequeue")
	if len(taken) != 1 || !bytes.Equal(taken[0].Body, value) {
		check(fmt.Errorf("got %v", taken), "compare")
	}
	claim := &urlstore.JobClaim{JobID: taken[0].JobID, ClaimToken: taken[0].ClaimToken}
	done, err := jobs.Ack(ctx, "go", []*urlstore.JobClaim{claim}, &urlstore.CallOptions{})
	check(err, "ack")
	if len(done) != 1 || !done[0] {
		check(fmt.Errorf("got %v", done), "compare")
	}
	fmt.Println("done")
}

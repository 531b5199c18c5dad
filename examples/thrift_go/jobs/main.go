// A producer and a worker of jobs that Python's workers share (examples/job_exchange):
//
//	jobs produce ADDRESS QUEUE JOB_TYPE FROM TO
//	jobs work ADDRESS QUEUE FILE
//
// The producer may be killed and started again: a unique key keeps a job from being there twice while it
// waits or runs. So may the worker: a job is acknowledged after its line is in the file, and one that was
// not is delivered again when its claim ends.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"aragog.test/client/urlstore"

	"github.com/apache/thrift/lib/go/thrift"
)

const batch = 50

// What a job is about, as the job types of Python get it by name.
type body struct {
	Number int `json:"number"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func connect(address string) *urlstore.PinLaterClient {
	config := &thrift.TConfiguration{}
	socket := thrift.NewTSocketConf(address, config)
	check(socket.Open())
	framed := thrift.NewTFramedTransportConf(socket, config)
	protocol := thrift.NewTBinaryProtocolConf(framed, config)
	multiplexed := thrift.NewTMultiplexedProtocol(protocol, "PinLater")
	return urlstore.NewPinLaterClient(thrift.NewTStandardClient(protocol, multiplexed))
}

func produce(jobs *urlstore.PinLaterClient, queue, jobType string, from, to int) {
	contentType := "application/json"
	for at := from; at < to; at += batch {
		end := at + batch
		if end > to {
			end = to
		}
		var added []*urlstore.NewJob_
		for number := at; number < end; number++ {
			text, err := json.Marshal(body{number})
			check(err)
			key := fmt.Sprintf("%s %d", jobType, number)
			added = append(added, &urlstore.NewJob_{
				Body: text, Name: &jobType, ContentType: &contentType, UniqueKey: &key})
		}
		_, err := jobs.Enqueue(context.Background(), queue, added, &urlstore.CallOptions{})
		check(err)
		fmt.Println("enqueued", end)
	}
}

func work(jobs *urlstore.PinLaterClient, queue, file string) {
	ctx, wait, claim, fail := context.Background(), int32(2_000), int64(10_000), true
	lines, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	check(err)
	for {
		taken, err := jobs.Dequeue(ctx, queue, batch, &urlstore.DequeueOptions{WaitMs: &wait, ClaimMs: &claim})
		check(err)
		var done []*urlstore.JobClaim
		for _, job := range taken {
			claimed := &urlstore.JobClaim{JobID: job.JobID, ClaimToken: job.ClaimToken, Attempt: &job.Attempt}
			var about body
			if job.ContentType != "application/json" || json.Unmarshal(job.Body, &about) != nil {
				reason := "unknown: " + string(job.Body)
				options := &urlstore.NackOptions{Fail: &fail, Reason: &reason}
				_, err := jobs.Nack(ctx, queue, []*urlstore.JobClaim{claimed}, options)
				check(err)
				continue
			}
			_, err := fmt.Fprintln(lines, about.Number)
			check(err)
			done = append(done, claimed)
		}
		if len(done) > 0 {
			_, err := jobs.Ack(ctx, queue, done, &urlstore.CallOptions{})
			check(err)
		}
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func main() {
	jobs, args := connect(os.Args[2]), os.Args
	if args[1] == "produce" {
		produce(jobs, args[3], args[4], number(args[5]), number(args[6]))
	} else {
		work(jobs, args[3], args[4])
	}
}

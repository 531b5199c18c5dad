// Beside jobs in PostgreSQL: river inserts jobs and runs a no-op worker until none is left.
//
//	river DSN JOBS WORKERS
//
// Prints the jobs inserted a second and those run a second. WORKERS is how many jobs run at once.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	bodyBytes  = 900
	insertJobs = 1000
)

type noopArgs struct {
	Body string `json:"body"`
}

func (noopArgs) Kind() string { return "noop" }

type noop struct {
	river.WorkerDefaults[noopArgs]
	left *atomic.Int64
	done chan struct{}
}

func (w *noop) Work(context.Context, *river.Job[noopArgs]) error {
	if w.left.Add(-1) == 0 {
		close(w.done)
	}
	return nil
}

func main() {
	jobs, workers := number(os.Args[2]), number(os.Args[3])
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Args[1])
	check(err)
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	check(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	check(err)

	left := new(atomic.Int64)
	left.Store(int64(jobs))
	worker := &noop{left: left, done: make(chan struct{})}
	registered := river.NewWorkers()
	river.AddWorker(registered, worker)
	client, err := river.NewClient(driver, &river.Config{
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers: registered,
		Logger:  slog.New(slog.DiscardHandler),
		// By default it asks for jobs ten times a second, so many workers at most each time.
		FetchCooldown:     river.FetchCooldownMin,
		FetchPollInterval: river.FetchPollIntervalMin,
	})
	check(err)

	args := noopArgs{Body: strings.Repeat("x", bodyBytes)}
	began := time.Now()
	for start := 0; start < jobs; start += insertJobs {
		many := make([]river.InsertManyParams, min(insertJobs, jobs-start))
		for n := range many {
			many[n].Args = args
		}
		_, err := client.InsertManyFast(ctx, many)
		check(err)
	}
	inserted := time.Since(began)

	began = time.Now()
	check(client.Start(ctx))
	<-worker.done
	check(client.Stop(ctx)) // what has run is marked so
	ran := time.Since(began)
	fmt.Println(float64(jobs)/inserted.Seconds(), float64(jobs)/ran.Seconds())
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

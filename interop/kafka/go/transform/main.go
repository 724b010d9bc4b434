// Command transform is a member of a group that copies records from topic to topic, exactly once, with franz-go.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	transaction = 10 * time.Second
	session     = 6 * time.Second
	rebalance   = 10 * time.Second
	heartbeat   = 500 * time.Millisecond
	pause       = 200 * time.Millisecond
	// Records of a transaction.
	atOnce = 50
)

// Arguments: the group, the transactional id, the topics that it reads and writes, and the addresses of brokers.
func main() {
	brokers, group, id, from, to := os.Args[5:], os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		if err := run(ctx, to, []kgo.Opt{
			kgo.SeedBrokers(brokers...),
			kgo.ConsumerGroup(group),
			kgo.TransactionalID(id),
			kgo.ConsumeTopics(from),
			kgo.Balancers(kgo.CooperativeStickyBalancer()),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.RequireStableFetchOffsets(),
			kgo.TransactionTimeout(transaction),
			kgo.SessionTimeout(session),
			kgo.RebalanceTimeout(rebalance),
			kgo.HeartbeatInterval(heartbeat),
			kgo.RecordPartitioner(kgo.ManualPartitioner()),
			// The test waits for what it says about its group.
			kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)),
		}); err != nil {
			log.Printf("%s begins again: %v", id, err)
			// A broker that is down is asked five times a second.
			time.Sleep(pause)
		}
	}
}

// Copies records until something fails that franz-go doesn't handle. The next run continues at what was committed.
func run(ctx context.Context, to string, options []kgo.Opt) error {
	member, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		return err
	}
	defer member.Close()
	for ctx.Err() == nil {
		fetches := member.PollRecords(ctx, atOnce)
		for _, failed := range fetches.Errors() {
			log.Printf("%s %d: %v", failed.Topic, failed.Partition, failed.Err)
		}
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := member.Begin(); err != nil {
			return err
		}
		promise := kgo.AbortingFirstErrPromise(member.Client())
		fetches.EachRecord(func(record *kgo.Record) {
			copied := &kgo.Record{Topic: to, Partition: record.Partition, Value: record.Value}
			member.Produce(context.Background(), copied, promise.Promise())
		})
		// Aborted if the group has given partitions to others meanwhile.
		if _, err := member.End(context.Background(), promise.Err() == nil); err != nil {
			return err
		}
	}
	return nil
}

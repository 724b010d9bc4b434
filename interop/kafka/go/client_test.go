// Package interop runs franz-go against a Rawline broker, with nothing configured but the address.
package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	records    = 100_000
	partitions = 6
	group      = "go-readers"
	groupTopic = "go-group"
	timestamp  = 1_700_000_000_000
	// Set in the process of a member that is to be killed.
	memberVariable = "RAWLINE_GO_MEMBER"
)

var value = strings.Repeat("-", 80)

func TestMain(m *testing.M) {
	if os.Getenv(memberVariable) != "" {
		idle()
	}
	os.Exit(m.Run())
}

func newClient(t *testing.T, options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(os.Getenv("RAWLINE_KAFKA")))...)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func create(t *testing.T, topic string, count int32) *kadm.Client {
	admin := kadm.NewClient(newClient(t))
	t.Cleanup(admin.Close)
	if _, err := admin.CreateTopic(deadline(t), count, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	listed, err := admin.ListTopics(deadline(t), topic)
	if err != nil || len(listed[topic].Partitions) != int(count) {
		t.Fatalf("%v: %v", listed[topic], err)
	}
	return admin
}

// Keys are the numbers of the records, which go to the partitions in turn.
func produce(t *testing.T, topic string, count int32, codec kgo.CompressionCodec) {
	client := newClient(t, kgo.ProducerBatchCompression(codec), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer client.Close()
	for number := range records {
		record := &kgo.Record{
			Topic:     topic,
			Partition: int32(number) % count,
			Key:       fmt.Appendf(nil, "%d", number),
			Value:     fmt.Appendf(nil, "%d%s", number, value),
			Headers:   []kgo.RecordHeader{{Key: "number", Value: fmt.Appendf(nil, "%d", number)}, {Key: "none"}},
			Timestamp: time.UnixMilli(timestamp + int64(number)),
		}
		client.Produce(context.Background(), record, func(record *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			} else if record.Offset != int64(number)/int64(count) {
				t.Errorf("record %d has offset %d", number, record.Offset)
			}
		})
	}
	if err := client.Flush(deadline(t)); err != nil {
		t.Fatal(err)
	}
}

func TestRecordsArriveAsTheyWereSent(t *testing.T) {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	for name, codec := range codecs {
		t.Run(name, func(t *testing.T) {
			topic := "go-" + name
			admin := create(t, topic, 1)
			produce(t, topic, 1, codec)
			client := newClient(t, kgo.ConsumeTopics(topic))
			defer client.Close()
			for number := 0; number < records; {
				fetches := client.PollFetches(deadline(t))
				if err := fetches.Err(); err != nil {
					t.Fatal(err)
				}
				fetches.EachRecord(func(record *kgo.Record) {
					check(t, record, number)
					number++
				})
			}
			ends, err := admin.ListEndOffsets(deadline(t), topic)
			if end, _ := ends.Lookup(topic, 0); err != nil || end.Offset != records {
				t.Fatalf("%v: %v", end, err)
			}
		})
	}
}

func check(t *testing.T, record *kgo.Record, number int) {
	text := fmt.Sprint(number)
	isSame := record.Offset == int64(number) && string(record.Key) == text && string(record.Value) == text+value &&
		record.Timestamp.UnixMilli() == timestamp+int64(number) && len(record.Headers) == 2 &&
		string(record.Headers[0].Value) == text && record.Headers[1].Value == nil
	if !isSame {
		t.Fatalf("record %d arrived as %+v", number, record)
	}
}

// A member's settings: the broker finds out soon that a member is gone, instead of after 45 s.
func memberOptions() []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(groupTopic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
	}
}

// The process of a member that has partitions and reads nothing. It prints how many it has got.
func idle() {
	options := append(memberOptions(), kgo.SeedBrokers(os.Getenv("RAWLINE_KAFKA")),
		kgo.OnPartitionsAssigned(func(_ context.Context, client *kgo.Client, assigned map[string][]int32) {
			client.PauseFetchPartitions(assigned)
			fmt.Println(len(assigned[groupTopic]))
		}))
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	for {
		client.PollFetches(context.Background())
	}
}

func startIdle(t *testing.T) *exec.Cmd {
	member := exec.Command(os.Args[0])
	member.Env = append(os.Environ(), memberVariable+"=1")
	output, err := member.StdoutPipe()
	if err == nil {
		err = member.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = member.Process.Kill() })
	found := make(chan bool)
	go func() {
		line := make([]byte, 64)
		_, err := output.Read(line)
		found <- err == nil && bytes.ContainsAny(line, "123456")
	}()
	if !<-found {
		t.Fatal("the member that is to be killed got no partitions")
	}
	return member
}

func TestAGroupReadsEverythingWhenOneOfThreeIsKilled(t *testing.T) {
	admin := create(t, groupTopic, partitions)
	killed := startIdle(t)
	seen := seenRecords{numbers: map[string]bool{}}
	var members []*kgo.Client
	for range 2 {
		member := newClient(t, memberOptions()...)
		members = append(members, member)
		go func() {
			for fetches := member.PollFetches(context.Background()); !fetches.IsClientClosed(); {
				fetches.EachRecord(seen.add)
				fetches = member.PollFetches(context.Background())
			}
		}()
	}
	await(t, "three members share the partitions", func() bool { return sharers(t, admin) == 3 })
	produce(t, groupTopic, partitions, kgo.Lz4Compression())
	if seen.count() == records {
		t.Fatal("the member that doesn't read has no partitions")
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, "two members have read everything", func() bool { return seen.count() == records })
	if count := sharers(t, admin); count != 2 {
		t.Fatalf("%d members", count)
	}
	for _, member := range members {
		if err := member.CommitUncommittedOffsets(deadline(t)); err != nil {
			t.Fatal(err)
		}
		member.Close()
	}
	resets(t, admin)
}

// Of a group without members.
func resets(t *testing.T, admin *kadm.Client) {
	await(t, "members leave", func() bool { return sharers(t, admin) == 0 })
	lags, err := admin.Lag(deadline(t), group)
	if lag := lags[group]; err != nil || lag.State != "Empty" || lag.Lag.Total() != 0 {
		t.Fatalf("%+v: %v", lag, err)
	}
	var offsets kadm.Offsets
	// It has a record more than others, as their number isn't a multiple of that of the partitions.
	offsets.AddOffset(groupTopic, 2, records/partitions+1-7, -1)
	if err := admin.CommitAllOffsets(deadline(t), group, offsets); err != nil {
		t.Fatal(err)
	}
	if lags, err = admin.Lag(deadline(t), group); err != nil || lags[group].Lag.Total() != 7 {
		t.Fatalf("%+v: %v", lags[group], err)
	}
	if _, err := admin.DeleteGroup(deadline(t), group); err != nil {
		t.Fatal(err)
	}
	if left, err := admin.FetchOffsets(deadline(t), group); err != nil || len(left) != 0 {
		t.Fatalf("%+v: %v", left, err)
	}
}

// The members that have partitions.
func sharers(t *testing.T, admin *kadm.Client) int {
	described, err := admin.DescribeGroups(deadline(t), group)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, member := range described[group].Members {
		if assigned, ok := member.Assigned.AsConsumer(); ok && len(assigned.Topics) > 0 {
			count++
		}
	}
	return count
}

func await(t *testing.T, what string, isDone func() bool) {
	for until := time.Now().Add(time.Minute); !isDone(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("after a minute, this isn't so: %s", what)
		}
	}
}

// The keys that members have read.
type seenRecords struct {
	mutex   sync.Mutex
	numbers map[string]bool
}

func (seen *seenRecords) add(record *kgo.Record) {
	seen.mutex.Lock()
	defer seen.mutex.Unlock()
	seen.numbers[string(record.Key)] = true
}

func (seen *seenRecords) count() int {
	seen.mutex.Lock()
	defer seen.mutex.Unlock()
	return len(seen.numbers)
}

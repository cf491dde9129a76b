// The adapter of github.com/segmentio/kafka-go. It has neither idempotent producers nor static members. Group
// members use its ConsumerGroup, the layer below its Reader, because only that tells the assignment.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"trackway.test/clients/adapter"
)

type client struct {
	bootstrap string
	kafka.Client
}

func main() {
	adapter.Main(func(bootstrap string) adapter.Client {
		return &client{bootstrap, kafka.Client{Addr: kafka.TCP(bootstrap), Timeout: 30 * time.Second}}
	})
}

func (c *client) Create(ctx context.Context, topic string, partitions int) error {
	response, err := c.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: partitions, ReplicationFactor: 1}},
	})
	if err != nil {
		return err
	}
	return response.Errors[topic]
}

func (c *client) List(ctx context.Context) ([]string, error) {
	response, err := c.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return nil, err
	}
	topics := []string{}
	for _, topic := range response.Topics {
		if !topic.Internal {
			topics = append(topics, topic.Name)
		}
	}
	return topics, nil
}

func (c *client) partitions(ctx context.Context, topic string) ([]int, error) {
	response, err := c.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return nil, err
	}
	if err := response.Topics[0].Error; err != nil {
		return nil, err
	}
	ids := []int{}
	for _, partition := range response.Topics[0].Partitions {
		ids = append(ids, partition.ID)
	}
	return ids, nil
}

func (c *client) Describe(ctx context.Context, topic string) (int, error) {
	ids, err := c.partitions(ctx, topic)
	return len(ids), err
}

func (c *client) Delete(ctx context.Context, topic string) error {
	response, err := c.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return response.Errors[topic]
}

func (c *client) Produce(ctx context.Context, p adapter.Produce) error {
	if p.Idempotent {
		return adapter.Unsupported("kafka-go has no idempotent producer")
	}
	codec, ok := map[string]kafka.Compression{
		"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd,
	}[p.Codec]
	if !ok {
		return fmt.Errorf("unknown codec %q", p.Codec)
	}
	var balancer kafka.Balancer = &kafka.Hash{}
	if p.Partition >= 0 {
		balancer = kafka.BalancerFunc(func(kafka.Message, ...int) int { return int(p.Partition) })
	}
	writer := &kafka.Writer{
		Addr: kafka.TCP(c.bootstrap), Topic: p.Topic, Balancer: balancer, Compression: codec,
		RequiredAcks: kafka.RequireAll, BatchTimeout: 10 * time.Millisecond,
	}
	messages := make([]kafka.Message, 0, p.Count)
	p.Each(func(key, value []byte, at time.Time) {
		messages = append(messages, kafka.Message{Key: key, Value: value, Time: at})
	})
	return errors.Join(writer.WriteMessages(ctx, messages...), writer.Close())
}

func (c *client) reader(topic string, partition int) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{c.bootstrap}, Topic: topic, Partition: partition, MaxWait: 250 * time.Millisecond,
	})
}

func (c *client) Consume(ctx context.Context, topic string, fromMs int64, emit func(adapter.Record) bool) error {
	ids, err := c.partitions(ctx, topic)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages, failures := make(chan kafka.Message), make(chan error, len(ids))
	for _, id := range ids {
		go func() { failures <- c.read(ctx, topic, id, fromMs, messages) }()
	}
	for {
		select {
		case m := <-messages:
			if !emit(adapter.Record{Partition: int32(m.Partition), Offset: m.Offset, Key: string(m.Key), Value: string(m.Value)}) {
				return nil
			}
		case err := <-failures:
			return err
		}
	}
}

func (c *client) read(ctx context.Context, topic string, partition int, fromMs int64, messages chan<- kafka.Message) error {
	reader := c.reader(topic, partition)
	defer reader.Close()
	start := func() error { return reader.SetOffset(kafka.FirstOffset) }
	if fromMs >= 0 {
		start = func() error { return reader.SetOffsetAt(ctx, time.UnixMilli(fromMs)) }
	}
	if err := start(); err != nil {
		return err
	}
	for {
		message, err := reader.ReadMessage(ctx)
		if err != nil {
			return err
		}
		select {
		case messages <- message:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *client) Member(ctx context.Context, m adapter.Membership, events *adapter.Events) error {
	if m.InstanceID != "" {
		return adapter.Unsupported("kafka-go has no static members")
	}
	if m.NextGen {
		return adapter.Unsupported("kafka-go has only the classic group protocol")
	}
	members, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: m.Group, Brokers: []string{c.bootstrap}, Topics: []string{m.Topic}, StartOffset: kafka.FirstOffset,
		SessionTimeout: adapter.SessionTimeout, HeartbeatInterval: adapter.HeartbeatInterval, Timeout: 15 * time.Second,
		JoinGroupBackoff: adapter.RetryPause,
	})
	if err != nil {
		return err
	}
	defer members.Close()
	for {
		generation, err := members.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, kafka.ErrGroupClosed):
			return err
		case err != nil: // a rebalance, or the broker is away; the library joins again
			fmt.Fprintf(os.Stderr, "join: %v\n", err)
			continue
		}
		assigned := []int32{}
		for _, partition := range generation.Assignments[m.Topic] {
			assigned = append(assigned, int32(partition.ID))
		}
		events.Assigned(assigned)
		held := &holding{Generation: generation, topic: m.Topic, uncommitted: map[int]int64{}, events: events}
		for _, partition := range generation.Assignments[m.Topic] {
			generation.Start(func(ctx context.Context) { c.work(ctx, held, partition) })
		}
	}
}

// holding is what a member owns for one generation. Its partitions are read side by side: the lock keeps a record
// and its commit together in the output.
type holding struct {
	*kafka.Generation
	topic       string
	events      *adapter.Events
	lock        sync.Mutex
	uncommitted map[int]int64
}

// take prints a record and commits it, with all that an earlier commit left over.
func (h *holding) take(message kafka.Message) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.events.Record(int32(message.Partition), message.Offset, message.Value)
	h.uncommitted[message.Partition] = message.Offset + 1
	if err := h.CommitOffsets(map[string]map[int]int64{h.topic: h.uncommitted}); err != nil {
		fmt.Fprintf(os.Stderr, "commit %d: %v\n", message.Partition, err)
		h.events.CommitRefused()
		return
	}
	clear(h.uncommitted)
	h.events.Committed()
}

// work reads one assigned partition until its generation ends.
func (c *client) work(ctx context.Context, held *holding, from kafka.PartitionAssignment) {
	reader := c.reader(held.topic, from.ID)
	defer reader.Close()
	if err := reader.SetOffset(from.Offset); err != nil {
		fmt.Fprintf(os.Stderr, "seek %d: %v\n", from.ID, err)
		return
	}
	for {
		message, err := reader.FetchMessage(ctx)
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF):
			return
		case err != nil: // the reader goes on trying by itself
			fmt.Fprintf(os.Stderr, "fetch %d: %v\n", from.ID, err)
		default:
			held.take(message)
		}
	}
}

func (c *client) Committed(ctx context.Context, topic, group string) (map[int32]int64, error) {
	ids, err := c.partitions(ctx, topic)
	if err != nil {
		return nil, err
	}
	response, err := c.OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: ids}})
	if err != nil {
		return nil, err
	}
	offsets := map[int32]int64{}
	for _, partition := range response.Topics[topic] {
		if partition.Error != nil {
			return nil, partition.Error
		}
		if partition.CommittedOffset >= 0 {
			offsets[int32(partition.Partition)] = partition.CommittedOffset
		}
	}
	return offsets, response.Error
}

func (c *client) Groups(ctx context.Context) ([]string, error) {
	response, err := c.ListGroups(ctx, &kafka.ListGroupsRequest{})
	if err != nil {
		return nil, err
	}
	groups := []string{}
	for _, group := range response.Groups {
		groups = append(groups, group.GroupID)
	}
	return groups, response.Error
}

func (c *client) DescribeGroup(ctx context.Context, group string) (string, int, error) {
	response, err := c.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return "", 0, err
	}
	described := response.Groups[0]
	return described.GroupState, len(described.Members), described.Error
}

func (c *client) DeleteGroup(ctx context.Context, group string) error {
	response, err := c.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return err
	}
	return response.Errors[group]
}

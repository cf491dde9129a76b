// The adapter of github.com/IBM/sarama. The library never asks the broker for its versions: it speaks those of the
// Kafka release that it is configured for, here the newest that it knows.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"trackway.test/clients/adapter"
)

type client struct{ brokers []string }

func main() {
	sarama.Logger = log.New(os.Stderr, "sarama ", log.LstdFlags)
	adapter.Main(func(bootstrap string) adapter.Client { return client{[]string{bootstrap}} })
}

func config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.ClientID = "sarama-adapter"
	c.Metadata.AllowAutoTopicCreation = false
	return c
}

// admin opens an admin client for one call.
func admin[T any](c client, call func(sarama.ClusterAdmin) (T, error)) (T, error) {
	a, err := sarama.NewClusterAdmin(c.brokers, config())
	if err != nil {
		var none T
		return none, err
	}
	defer a.Close()
	return call(a)
}

func (c client) Create(_ context.Context, topic string, partitions int) error {
	_, err := admin(c, func(a sarama.ClusterAdmin) (any, error) {
		return nil, a.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1}, false)
	})
	return err
}

func (c client) List(context.Context) ([]string, error) {
	return admin(c, func(a sarama.ClusterAdmin) ([]string, error) {
		details, err := a.ListTopics()
		topics := []string{}
		for topic := range details {
			topics = append(topics, topic)
		}
		return topics, err
	})
}

func (c client) Describe(_ context.Context, topic string) (int, error) {
	return admin(c, func(a sarama.ClusterAdmin) (int, error) {
		topics, err := a.DescribeTopics([]string{topic})
		if err != nil {
			return 0, err
		}
		if topics[0].Err != sarama.ErrNoError {
			return 0, topics[0].Err
		}
		return len(topics[0].Partitions), nil
	})
}

func (c client) Delete(_ context.Context, topic string) error {
	_, err := admin(c, func(a sarama.ClusterAdmin) (any, error) { return nil, a.DeleteTopic(topic) })
	return err
}

func (c client) Produce(_ context.Context, p adapter.Produce) error {
	codec, ok := map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}[p.Codec]
	if !ok {
		return fmt.Errorf("unknown codec %q", p.Codec)
	}
	cfg := config()
	cfg.Producer.RequiredAcks = sarama.WaitForAll
	cfg.Producer.Return.Successes = true
	cfg.Producer.Compression = codec
	if p.Idempotent {
		cfg.Producer.Idempotent = true
		cfg.Net.MaxOpenRequests = 1
	}
	if p.Partition >= 0 {
		cfg.Producer.Partitioner = sarama.NewManualPartitioner
	}
	producer, err := sarama.NewSyncProducer(c.brokers, cfg)
	if err != nil {
		return err
	}
	messages := make([]*sarama.ProducerMessage, 0, p.Count)
	p.Each(func(key, value []byte, at time.Time) {
		messages = append(messages, &sarama.ProducerMessage{
			Topic: p.Topic, Key: sarama.ByteEncoder(key), Value: sarama.ByteEncoder(value), Timestamp: at, Partition: p.Partition,
		})
	})
	return errors.Join(producer.SendMessages(messages), producer.Close())
}

func (c client) Consume(ctx context.Context, topic string, fromMs int64, emit func(adapter.Record) bool) error {
	cl, err := sarama.NewClient(c.brokers, config())
	if err != nil {
		return err
	}
	defer cl.Close()
	consumer, err := sarama.NewConsumerFromClient(cl)
	if err != nil {
		return err
	}
	defer consumer.Close()
	ids, err := consumer.Partitions(topic)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	messages := make(chan *sarama.ConsumerMessage)
	for _, id := range ids {
		start := sarama.OffsetOldest
		if fromMs >= 0 {
			// -1, no record at or after that time, is also the library's word for the end of the partition.
			if start, err = cl.GetOffset(topic, id, fromMs); err != nil {
				return err
			}
		}
		partition, err := consumer.ConsumePartition(topic, id, start)
		if err != nil {
			return err
		}
		defer partition.Close()
		go forward(ctx, partition.Messages(), messages)
	}
	for {
		select {
		case m := <-messages:
			if !emit(adapter.Record{Partition: m.Partition, Offset: m.Offset, Key: string(m.Key), Value: string(m.Value)}) {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func forward(ctx context.Context, from <-chan *sarama.ConsumerMessage, to chan<- *sarama.ConsumerMessage) {
	for message := range from {
		select {
		case to <- message:
		case <-ctx.Done():
			return
		}
	}
}

func (c client) Member(ctx context.Context, m adapter.Membership, events *adapter.Events) error {
	if m.NextGen {
		return adapter.Unsupported("sarama has only the classic group protocol")
	}
	cfg := config()
	cfg.Consumer.Group.Session.Timeout = adapter.SessionTimeout
	cfg.Consumer.Group.Heartbeat.Interval = adapter.HeartbeatInterval
	cfg.Consumer.Group.InstanceId = m.InstanceID
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	cfg.Consumer.Offsets.AutoCommit.Enable = false
	cl, err := sarama.NewClient(c.brokers, cfg)
	if err != nil {
		return err
	}
	defer cl.Close()
	admin, err := sarama.NewClusterAdminFromClient(cl)
	if err != nil {
		return err
	}
	consumers, err := sarama.NewConsumerGroupFromClient(m.Group, cl)
	if err != nil {
		return err
	}
	defer consumers.Close()
	for ctx.Err() == nil {
		handler := &member{Membership: m, admin: admin, events: events, marked: map[int32]int64{}}
		if err := consumers.Consume(ctx, []string{m.Topic}, handler); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "join: %v\n", err) // the broker may be away
			time.Sleep(adapter.RetryPause)
		}
	}
	return nil
}

// member handles one generation; sarama calls ConsumeClaim for every partition in a goroutine of its own.
type member struct {
	adapter.Membership
	admin  sarama.ClusterAdmin
	events *adapter.Events
	lock   sync.Mutex // keeps the records of one poll and their commit together in the output
	marked map[int32]int64
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.events.Assigned(session.Claims()[m.Topic])
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		m.lock.Lock()
		m.take(session, message)
		for more := true; more; { // what has been fetched already counts as one poll
			select {
			case message, more = <-claim.Messages():
				if more {
					m.take(session, message)
				}
			default:
				more = false
			}
		}
		session.Commit()
		if err := m.verify(); err != nil {
			fmt.Fprintf(os.Stderr, "commit: %v\n", err)
			m.events.CommitRefused()
		} else {
			m.events.Committed()
		}
		m.lock.Unlock()
	}
	return nil
}

func (m *member) take(session sarama.ConsumerGroupSession, message *sarama.ConsumerMessage) {
	m.events.Record(message.Partition, message.Offset, message.Value)
	session.MarkMessage(message, "")
	m.marked[message.Partition] = message.Offset + 1
}

// verify asks the broker for the committed offsets, since the library's Commit does not tell how it ended.
func (m *member) verify() error {
	ids := slices.Collect(maps.Keys(m.marked))
	response, err := m.admin.ListConsumerGroupOffsets(m.Group, map[string][]int32{m.Topic: ids})
	if err != nil {
		return err
	}
	for partition, marked := range m.marked {
		if block := response.GetBlock(m.Topic, partition); block == nil || block.Offset < marked {
			return fmt.Errorf("partition %d is not committed up to %d: %+v", partition, marked, block)
		}
	}
	return nil
}

func (c client) Committed(_ context.Context, topic, group string) (map[int32]int64, error) {
	return admin(c, func(a sarama.ClusterAdmin) (map[int32]int64, error) {
		response, err := a.ListConsumerGroupOffsets(group, nil)
		if err != nil {
			return nil, err
		}
		offsets := map[int32]int64{}
		for partition, block := range response.Blocks[topic] {
			if block.Err != sarama.ErrNoError {
				return nil, block.Err
			}
			if block.Offset >= 0 {
				offsets[partition] = block.Offset
			}
		}
		return offsets, nil
	})
}

func (c client) Groups(context.Context) ([]string, error) {
	return admin(c, func(a sarama.ClusterAdmin) ([]string, error) {
		found, err := a.ListConsumerGroups()
		groups := []string{}
		for group := range found {
			groups = append(groups, group)
		}
		return groups, err
	})
}

func (c client) DescribeGroup(_ context.Context, group string) (string, int, error) {
	described, err := admin(c, func(a sarama.ClusterAdmin) (*sarama.GroupDescription, error) {
		groups, err := a.DescribeConsumerGroups([]string{group})
		if err != nil {
			return nil, err
		}
		if groups[0].Err != sarama.ErrNoError {
			return nil, groups[0].Err
		}
		return groups[0], nil
	})
	if err != nil {
		return "", 0, err
	}
	return described.State, len(described.Members), nil
}

func (c client) DeleteGroup(_ context.Context, group string) error {
	_, err := admin(c, func(a sarama.ClusterAdmin) (any, error) { return nil, a.DeleteConsumerGroup(group) })
	return err
}

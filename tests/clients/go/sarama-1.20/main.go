// The adapter of github.com/Shopify/sarama 1.20, of 2018, told to speak what Kafka 0.10.2 spoke: message format 1, no
// idempotence, groups that it commits on a timer. It never asks the broker for its versions.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/Shopify/sarama"

	"trackway.test/clients/adapter"
)

type client struct{ brokers []string }

func main() {
	sarama.Logger = log.New(os.Stderr, "sarama ", log.LstdFlags)
	adapter.Main(func(bootstrap string) adapter.Client { return client{[]string{bootstrap}} })
}

func config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V0_10_2_0
	c.ClientID = "sarama-1.20-adapter"
	return c
}

// connected opens a client for one call.
func connected[T any](c client, call func(sarama.Client) (T, error)) (T, error) {
	cl, err := sarama.NewClient(c.brokers, config())
	if err != nil {
		var none T
		return none, err
	}
	defer cl.Close()
	return call(cl)
}

// admin opens an admin client for one call; all that it has in this release are topics.
func (c client) admin(call func(sarama.ClusterAdmin) error) error {
	a, err := sarama.NewClusterAdmin(c.brokers, config())
	if err != nil {
		return err
	}
	return errors.Join(call(a), a.Close())
}

func (c client) Create(_ context.Context, topic string, partitions int) error {
	return c.admin(func(a sarama.ClusterAdmin) error {
		return a.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1}, false)
	})
}

func (c client) List(context.Context) ([]string, error) {
	return connected(c, func(cl sarama.Client) ([]string, error) { return cl.Topics() })
}

func (c client) Describe(_ context.Context, topic string) (int, error) {
	return connected(c, func(cl sarama.Client) (int, error) {
		partitions, err := cl.Partitions(topic)
		return len(partitions), err
	})
}

func (c client) Delete(_ context.Context, topic string) error {
	return c.admin(func(a sarama.ClusterAdmin) error { return a.DeleteTopic(topic) })
}

func (c client) Produce(_ context.Context, p adapter.Produce) error {
	codec, ok := map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4,
	}[p.Codec]
	if !ok {
		return adapter.Unsupported("Kafka 0.10.2 has no " + p.Codec)
	}
	if p.Idempotent {
		return adapter.Unsupported("Kafka 0.10.2 has no idempotent producer")
	}
	cfg := config()
	cfg.Producer.RequiredAcks = sarama.WaitForAll
	cfg.Producer.Return.Successes = true
	cfg.Producer.Compression = codec
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
	if m.InstanceID != "" {
		return adapter.Unsupported("Kafka 0.10.2 has no static members")
	}
	cfg := config()
	cfg.Consumer.Group.Session.Timeout = adapter.SessionTimeout
	cfg.Consumer.Group.Heartbeat.Interval = adapter.HeartbeatInterval
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	cfg.Consumer.Offsets.CommitInterval = 500 * time.Millisecond
	consumers, err := sarama.NewConsumerGroup(c.brokers, m.Group, cfg)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := consumers.Consume(ctx, []string{m.Topic}, &member{m, events}); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "join: %v\n", err) // the broker may be away
			time.Sleep(adapter.RetryPause)
		}
	}
	return consumers.Close()
}

// member handles one generation; sarama calls ConsumeClaim for every partition in a goroutine of its own.
type member struct {
	adapter.Membership
	events *adapter.Events
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.events.Assigned(session.Claims()[m.Topic])
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		m.events.Record(message.Partition, message.Offset, message.Value)
		session.MarkMessage(message, "")
	}
	return nil
}

func (c client) Committed(_ context.Context, topic, group string) (map[int32]int64, error) {
	return coordinated(c, group, func(cl sarama.Client, coordinator *sarama.Broker) (map[int32]int64, error) {
		ids, err := cl.Partitions(topic)
		if err != nil {
			return nil, err
		}
		request := &sarama.OffsetFetchRequest{Version: 1, ConsumerGroup: group}
		for _, id := range ids {
			request.AddPartition(topic, id)
		}
		response, err := coordinator.FetchOffset(request)
		if err != nil {
			return nil, err
		}
		offsets := map[int32]int64{}
		for _, id := range ids {
			block := response.GetBlock(topic, id)
			if block.Err != sarama.ErrNoError {
				return nil, block.Err
			}
			if block.Offset >= 0 {
				offsets[id] = block.Offset
			}
		}
		return offsets, nil
	})
}

func (c client) Groups(context.Context) ([]string, error) {
	return connected(c, func(cl sarama.Client) ([]string, error) {
		groups := []string{}
		for _, broker := range cl.Brokers() {
			if err := broker.Open(cl.Config()); err != nil && err != sarama.ErrAlreadyConnected {
				return nil, err
			}
			response, err := broker.ListGroups(&sarama.ListGroupsRequest{})
			if err != nil {
				return nil, err
			}
			if response.Err != sarama.ErrNoError {
				return nil, response.Err
			}
			for group := range response.Groups {
				groups = append(groups, group)
			}
		}
		return groups, nil
	})
}

func (c client) DescribeGroup(_ context.Context, group string) (string, int, error) {
	found, err := coordinated(c, group, func(_ sarama.Client, coordinator *sarama.Broker) (*sarama.GroupDescription, error) {
		response, err := coordinator.DescribeGroups(&sarama.DescribeGroupsRequest{Groups: []string{group}})
		if err != nil {
			return nil, err
		}
		if response.Groups[0].Err != sarama.ErrNoError {
			return nil, response.Groups[0].Err
		}
		return response.Groups[0], nil
	})
	if err != nil {
		return "", 0, err
	}
	return found.State, len(found.Members), nil
}

func (c client) DeleteGroup(context.Context, string) error {
	return adapter.Unsupported("Kafka 0.10.2 has no DeleteGroups")
}

// coordinated calls with a connection to the group's coordinator.
func coordinated[T any](c client, group string, call func(sarama.Client, *sarama.Broker) (T, error)) (T, error) {
	return connected(c, func(cl sarama.Client) (T, error) {
		coordinator, err := cl.Coordinator(group)
		if err != nil {
			var none T
			return none, err
		}
		return call(cl, coordinator)
	})
}
